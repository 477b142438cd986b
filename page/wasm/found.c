/* SPDX-License-Identifier: Apache-2.0 */
#include "found.h"
#include "analyzer/support/hash.h"
#include "life-facts.h"
#include "trace-format/dtypes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN, ABSENT, FOUND }; /* what maps have */

struct finding {
    const struct mt_definitions *definitions;
    const char *text;
    struct mt_address_map places; /* by the hash of a file and line */
    struct mt_address_map stacks; /* by stack */
    struct mt_address_map alike;  /* by what a life's texts are made of */
    bool has_no_memory;
};

static bool is_in(const struct finding *finding, const char *text)
{
    return strcasestr(text, finding->text) != NULL;
}

static uint64_t place_key(const char *file, size_t size, uint32_t line)
{
    return mt_hash(mt_hash(MT_HASH_SEED, file, size), &line, sizeof line);
}

/* Note the places, "LINE FILE" each, before newlines. */
static void note_places(struct finding *finding, const char *places)
{
    for (const char *end; (end = strchr(places, '\n')); places = end + 1) {
        char *file;
        uint32_t line = (uint32_t)strtoul(places, &file, 10);
        if (*file++ == ' ' && file <= end)
            finding->has_no_memory |=
                mt_address_map_put(&finding->places, place_key(file, (size_t)(end - file), line),
                                   FOUND) != 0;
    }
}

static bool is_in_frame(const struct finding *finding, uint32_t id)
{
    char place[MT_LIFE_TEXT];
    const struct mt_frame *frame = mt_named_frame(finding->definitions, id);
    mt_frame_place(place, frame);
    return is_in(finding, frame->function) || is_in(finding, place) ||
           mt_address_map_get(&finding->places,
                              place_key(frame->file, strlen(frame->file), frame->line));
}

/* Return whether a frame of a stack has the text, which is found once for each stack of callers. */
static bool is_in_stack(struct finding *finding, uint32_t stack)
{
    const struct mt_definitions *d = finding->definitions;
    uint32_t known = UNKNOWN, end = stack;
    for (; end && mt_stack(d, end)->depth; end = mt_stack(d, end)->parent) {
        known = mt_address_map_get(&finding->stacks, end);
        if (!known && is_in_frame(finding, mt_stack(d, end)->frame))
            known = FOUND;
        if (known)
            break;
    }
    known = known ? known : ABSENT;
    for (uint32_t at = stack; at != end; at = mt_stack(d, at)->parent)
        finding->has_no_memory |= mt_address_map_put(&finding->stacks, at, known) != 0;
    if (known == FOUND)
        finding->has_no_memory |= mt_address_map_put(&finding->stacks, end, known) != 0;
    return known == FOUND;
}

static bool is_in_life(struct finding *finding, const struct mt_life *life)
{
    char text[MT_LIFE_TEXT];
    const struct mt_definitions *d = finding->definitions;
    if (is_in(finding, mt_categories[life->category].label) ||
        (life->dtype && is_in(finding, mt_dtype_name(life->dtype))) ||
        is_in(finding, mt_stack_module(d, life->module)) || is_in_stack(finding, life->stack) ||
        is_in_stack(finding, life->forward_stack))
        return true;
    mt_life_line(d, life, text);
    if (is_in(finding, text))
        return true;
    mt_life_operator(d, life, text);
    return is_in(finding, text);
}

long mt_find_lives(struct mt_lives *lives, const struct mt_definitions *definitions,
                   const char *text, const char *places)
{
    struct finding finding = {.definitions = definitions, .text = text};
    long n = 0;
    note_places(&finding, places);
    for (size_t i = 0; i < lives->n; i++) {
        struct mt_life *life = mt_life(lives, i);
        const uint32_t inputs[] = {life->stack,     life->forward_stack,
                                   life->node_name, life->name,
                                   life->module,    life->category | life->dtype << 8};
        uint64_t key = *text ? mt_hash(MT_HASH_SEED, inputs, sizeof inputs) : 0;
        uint32_t known = *text ? mt_address_map_get(&finding.alike, key) : FOUND;
        if (!known) {
            known = is_in_life(&finding, life) ? FOUND : ABSENT;
            finding.has_no_memory |= mt_address_map_put(&finding.alike, key, known) != 0;
        }
        life->is_found = known == FOUND;
        n += life->is_found;
    }
    mt_address_map_clear(&finding.places);
    mt_address_map_clear(&finding.stacks);
    mt_address_map_clear(&finding.alike);
    return finding.has_no_memory ? -ENOMEM : n;
}

void mt_bands_found(const struct mt_lives *lives, const struct mt_range_shown *range, double *out)
{
    const struct mt_course *course = &lives->course[range->slot];
    uint64_t group[MT_CATEGORY_COUNT] = {0};
    long at = -1;
    for (size_t i = 0; i < range->columns; i++) {
        long moment = mt_highest_moment(lives, course, mt_column_moments(lives, range, i));
        while (at < moment) {
            const struct mt_life *life = mt_life_at(lives, course, (size_t)++at);
            if (life->is_found)
                group[life->group] += mt_is_end(course, (size_t)at) ? -life->size : life->size;
        }
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
            *out++ = (double)group[c];
    }
}
