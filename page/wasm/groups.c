/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"
#include "analyzer/query/texts.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"
#include "analyzer/support/search.h"
#include "life-facts.h"
#include "trace-format/dtypes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct group {
    double weight; /* bytes times moments */
    uint8_t place; /* in the stack */
};

struct grouping {
    const struct mt_definitions *definitions;
    unsigned kind;
    struct mt_texts names;
    struct group *group; /* by name */
    size_t capacity;
    struct mt_address_map by_source; /* by the name's inputs: the group's number + 1 */
    bool has_no_memory;
};

/* Return a key of the inputs of a group's name, so that each name is found once. */
static uint64_t source_of(const struct grouping *grouping, const struct mt_life *life)
{
    switch (grouping->kind) {
    case MT_STACK_DTYPE:
        return life->dtype + 1u;
    case MT_STACK_OPERATOR:
        return life->node_name ? 1ull << 40 | life->node_name : 1 + (uint64_t)life->stack;
    case MT_STACK_LINE:
        return mt_hash(MT_HASH_SEED, (uint32_t[]){life->stack, life->forward_stack, life->name},
                       3 * sizeof(uint32_t));
    default:
        return 1 + (uint64_t)life->module;
    }
}

/* Fold layers that differ in a number into one group, "layers.*.attn". */
static void fold_numbers(char *name)
{
    char *out = name;
    for (const char *at = name; *at;) {
        if (!isdigit((unsigned char)*at) || (at > name && at[-1] != '.')) {
            *out++ = *at++;
            continue;
        }
        const char *end = at;
        while (isdigit((unsigned char)*end))
            end++;
        if (*end && *end != '.') {
            *out++ = *at++;
            continue;
        }
        *out++ = '*';
        at = end;
    }
    *out = '\0';
}

static void name_of(const struct grouping *grouping, const struct mt_life *life,
                    char out[MT_LIFE_TEXT])
{
    switch (grouping->kind) {
    case MT_STACK_DTYPE:
        snprintf(out, MT_LIFE_TEXT, "%s",
                 life->dtype ? mt_dtype_name(life->dtype) : "type unknown");
        break;
    case MT_STACK_LINE:
        mt_life_line(grouping->definitions, life, out);
        break;
    case MT_STACK_OPERATOR:
        mt_life_operator(grouping->definitions, life, out);
        break;
    default:
        snprintf(out, MT_LIFE_TEXT, "%s", mt_stack_module(grouping->definitions, life->module));
        fold_numbers(out);
        if (!*out)
            snprintf(out, MT_LIFE_TEXT, "module unknown");
    }
    if (!*out)
        snprintf(out, MT_LIFE_TEXT, "unknown");
}

/* Return the number + 1 of the group; 0: no memory. */
static uint32_t number_of(struct grouping *grouping, const struct mt_life *life)
{
    char name[MT_LIFE_TEXT];
    uint64_t source = source_of(grouping, life);
    uint32_t known = mt_address_map_get(&grouping->by_source, source);
    if (known)
        return known;
    uint32_t number;
    name_of(grouping, life, name);
    if (mt_texts_add(&grouping->names, name, &number) ||
        MT_GROW(grouping->group, grouping->capacity, number) ||
        mt_address_map_put(&grouping->by_source, source, number + 1))
        return 0;
    return number + 1;
}

MT_ORDER_OF_POINTERS(by_weight, struct group, MT_FALLING(weight))

static void weigh(struct grouping *grouping, const struct mt_lives *lives)
{
    for (size_t i = 0; i < lives->n; i++) {
        const struct mt_life *life = mt_life(lives, i);
        uint32_t number = number_of(grouping, life);
        if (!number) {
            grouping->has_no_memory = true;
            return;
        }
        size_t end = life->ended == MT_LIFE_GOES_ON ? lives->course[life->slot].n : life->ended;
        grouping->group[number - 1].weight += (double)life->size * (double)(end - life->born);
    }
}

/* Set the places in the stack: the largest first, one place for all others. Return the names. */
static json_t *place(struct grouping *grouping)
{
    struct group **order = malloc((grouping->names.n + 1) * sizeof *order);
    json_t *names = json_array();
    if (!order)
        return NULL;
    for (size_t i = 0; i < grouping->names.n; i++)
        order[i] = &grouping->group[i];
    if (grouping->names.n)
        qsort(order, grouping->names.n, sizeof(struct group *), by_weight);
    bool has_others = grouping->names.n > MT_CATEGORY_COUNT;
    size_t shown = has_others ? MT_CATEGORY_COUNT - 1 : grouping->names.n;
    for (size_t i = 0; i < grouping->names.n; i++) {
        order[i]->place = (uint8_t)(i < shown ? i : shown);
        if (i < shown)
            json_array_append_new(names,
                                  mt_json_text(grouping->names.text[order[i] - grouping->group]));
    }
    char others[64];
    snprintf(others, sizeof others, "%zu others", grouping->names.n - shown);
    if (has_others)
        json_array_append_new(names, json_string(others));
    free(order);
    return names;
}

static void clear(struct grouping *grouping)
{
    mt_texts_clear(&grouping->names);
    free(grouping->group);
    mt_address_map_clear(&grouping->by_source);
}

static json_t *by_category(struct mt_lives *lives)
{
    json_t *names = json_array();
    for (unsigned i = 0; i < MT_CATEGORY_COUNT; i++)
        json_array_append_new(names, json_string(mt_categories[i].label));
    for (size_t i = 0; i < lives->n; i++)
        mt_life(lives, i)->group = mt_life(lives, i)->category;
    return names;
}

json_t *mt_groups_set(struct mt_lives *lives, const struct mt_replay *replay, unsigned kind)
{
    struct grouping grouping = {.definitions = replay->definitions, .kind = kind};
    json_t *names;
    if (kind == MT_STACK_CATEGORY) {
        names = by_category(lives);
    } else {
        weigh(&grouping, lives);
        names = grouping.has_no_memory ? NULL : place(&grouping);
        for (size_t i = 0; names && i < lives->n; i++)
            mt_life(lives, i)->group =
                grouping.group[number_of(&grouping, mt_life(lives, i)) - 1].place;
        clear(&grouping);
    }
    if (names)
        mt_lives_sum(lives);
    return names;
}
