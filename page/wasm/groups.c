/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"
#include "analyzer/query/query.h"
#include "analyzer/support/search.h"
#include "life-facts.h"

#include <stdio.h>
#include <stdlib.h>

/* The properties of each kind. */
static const struct mt_query by_kind[MT_STACK_KINDS] = {
    [MT_STACK_MODULE] = {.by = {MT_BY_LAYER}, .n_by = 1},
    [MT_STACK_DTYPE] = {.by = {MT_BY_DTYPE}, .n_by = 1},
    [MT_STACK_LINE] = {.by = {MT_BY_NAME, MT_BY_LINE}, .n_by = 2},
    [MT_STACK_OPERATOR] = {.by = {MT_BY_OPERATION}, .n_by = 1},
};

/* Return KiB times moments, of which 64 bits hold any number. */
static uint64_t weight_of(const struct mt_lives *lives, const struct mt_life *life)
{
    size_t end = life->ended == MT_LIFE_GOES_ON ? lives->course[life->slot].n : life->ended;
    return (life->size + 1023) / 1024 * (end - life->born);
}

/* Count a life in its group. Return the group's index + 1; 0: no memory. */
static uint32_t add(struct mt_groups *groups, const struct mt_query *query,
                    const struct mt_lives *lives, const struct mt_replay *replay,
                    const struct mt_life *life)
{
    struct mt_life_verdict verdict;
    return mt_groups_add(groups, query, mt_life_verdict(&verdict, replay, life),
                         weight_of(lives, life));
}

MT_ORDER_OF_POINTERS(by_weight, struct mt_group, MT_FALLING(bytes))

/* Number the groups by their place in the stack: the largest first, one place for all others.
 * Return the names; NULL: no memory. */
static json_t *place(uint8_t *place, const struct mt_groups *groups)
{
    const struct mt_group **order = malloc((groups->n + 1) * sizeof *order);
    json_t *names = order ? json_array() : NULL;
    for (size_t i = 0; i < groups->n && order; i++)
        order[i] = &groups->group[i];
    if (groups->n && order)
        qsort(order, groups->n, sizeof(struct mt_group *), by_weight);
    bool has_others = groups->n > MT_CATEGORY_COUNT;
    size_t shown = has_others ? MT_CATEGORY_COUNT - 1 : groups->n;
    for (size_t i = 0; i < groups->n && order; i++) {
        place[order[i] - groups->group] = (uint8_t)(i < shown ? i : shown);
        if (i < shown)
            json_array_append_new(names, mt_json_text(order[i]->name));
    }
    char others[64];
    snprintf(others, sizeof others, "%zu others", groups->n - shown);
    if (has_others && names)
        json_array_append_new(names, json_string(others));
    free(order);
    return names;
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

static json_t *by_query(struct mt_lives *lives, const struct mt_replay *replay,
                        const struct mt_query *query)
{
    struct mt_groups groups = {0};
    uint32_t *of = calloc(lives->n + 1, sizeof *of); /* each life's group, + 1 */
    size_t n = 0;
    while (of && n < lives->n && (of[n] = add(&groups, query, lives, replay, mt_life(lives, n))))
        n++;
    uint8_t *places = of && n == lives->n ? malloc(groups.n + 1) : NULL;
    json_t *names = places ? place(places, &groups) : NULL;
    for (size_t i = 0; names && i < n; i++)
        mt_life(lives, i)->group = places[of[i] - 1];
    free(places);
    free(of);
    mt_groups_clear(&groups);
    return names;
}

json_t *mt_groups_set(struct mt_lives *lives, const struct mt_replay *replay,
                      enum mt_group_kind kind)
{
    const struct mt_naming naming = mt_replay_naming(replay);
    struct mt_query query = by_kind[kind < MT_STACK_KINDS ? kind : MT_STACK_CATEGORY];
    query.naming = &naming;
    json_t *names = query.n_by ? by_query(lives, replay, &query) : by_category(lives);
    if (names)
        mt_lives_sum(lives);
    return names;
}
