/* SPDX-License-Identifier: Apache-2.0 */
#include "whole.h"
#include "replay-parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct teller {
    const struct mt_replay *whole;
    int (*tell)(void *data, const char *text);
    void *data;
};

/* What is told of a device; NULL: nothing. */
static const char *told(const struct mt_replay *replay, const char *name, unsigned slot)
{
    char key[64];
    snprintf(key, sizeof key, MT_WHOLE "%s.%d", name, (int)slot - 1);
    return mt_info(replay->definitions, key);
}

/* The same where it takes several records. */
static const char *told_part(const struct mt_replay *replay, const char *name, unsigned slot,
                             unsigned part)
{
    char key[64];
    snprintf(key, sizeof key, MT_WHOLE "%s.%d.%u", name, (int)slot - 1, part);
    return mt_info(replay->definitions, key);
}

/* --- lists of numbers ----------------------------------------------------------------------- */

#define MOST_NUMBERS 5u
#define ITEM_TEXT (MOST_NUMBERS * 21u) /* a number can have 20 digits */

/* Of a device that PyTorch does not use, what of a phase only all of its memory shows. */
static int get_span(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_spans *spans = &replay->spans[slot];
    if (!mt_replay_is_of_cuda(replay, slot) || i >= spans->n)
        return 0;
    const struct mt_span *span = &spans->span[i];
    const uint64_t numbers[] = {span->run, span->least, span->most, span->most_time_ns,
                                span->most_reserved};
    memcpy(number, numbers, sizeof numbers);
    return 1;
}

static int take_span(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    struct mt_spans *spans = &replay->spans[slot];
    const struct mt_span *found = mt_spans_at(spans, (uint32_t)number[0]);
    if (!found || found->run != number[0])
        return 0;
    struct mt_span *span = &spans->span[found - spans->span];
    span->least = number[1];
    span->most = number[2];
    span->most_time_ns = number[3];
    span->most_reserved = number[4];
    return 0;
}

static int get_range(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_ranges *ranges = &replay->tracker.ranges;
    if (!mt_replay_is_of_cuda(replay, slot) || i >= ranges->device[slot].n)
        return 0;
    const struct mt_range_most *most = &ranges->device[slot].most[i];
    const uint64_t numbers[] = {i, most->bytes, most->time_ns, most->event};
    memcpy(number, numbers, sizeof numbers);
    return 1;
}

/* Where the copy has as much at another time, that of the whole trace was before it. */
static int take_range(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    struct mt_ranges *ranges = &replay->tracker.ranges;
    const struct mt_range_most most = {number[1], number[2], number[3]};
    if (!most.event || number[0] >= ranges->n_ranges)
        return 0;
    if (number[0] < ranges->device[slot].n)
        ranges->device[slot].most[number[0]] = (struct mt_range_most){0};
    return mt_ranges_see(ranges, slot, (uint32_t)number[0], &most);
}

/* What CUDA had handed out when memory ran out: PyTorch tells that itself. */
static int get_oom(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    if (slot || i >= MT_OOMS_KEPT || i >= replay->n_ooms)
        return 0;
    number[0] = replay->ooms[i].time_ns;
    number[1] = replay->ooms[i].allocated;
    return 1;
}

static int take_oom(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    (void)slot;
    for (size_t i = 0; i < MT_OOMS_KEPT && i < replay->n_ooms; i++)
        if (replay->ooms[i].of_cuda && replay->ooms[i].time_ns == number[0])
            replay->ooms[i].allocated = replay->ooms[i].reserved = number[1];
    return 0;
}

static int get_origin(const struct mt_origins *origins, size_t i, uint64_t *number)
{
    if (i >= origins->n)
        return 0;
    number[0] = origins->origin[i].stack;
    number[1] = origins->origin[i].bytes;
    number[2] = origins->origin[i].blocks;
    return 1;
}

static int take_origin(struct mt_origins *origins, const uint64_t *number)
{
    if (mt_origins_add(origins, (uint32_t)number[0], number[1]))
        return -ENOMEM;
    origins->origin[origins->n - 1].blocks += number[2] - 1;
    origins->blocks += number[2] - 1;
    return 0;
}

static int get_twice(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    return !slot && get_origin(&replay->cuda.twice, i, number);
}

static int take_twice(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    (void)slot;
    return take_origin(&replay->cuda.twice, number);
}

static int get_by_others(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    return !slot && get_origin(&replay->cuda.by_others, i, number);
}

static int take_by_others(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    (void)slot;
    return take_origin(&replay->cuda.by_others, number);
}

static void clear_twice(struct mt_replay *replay)
{
    mt_origins_clear(&replay->cuda.twice);
}

static void clear_by_others(struct mt_replay *replay)
{
    mt_origins_clear(&replay->cuda.by_others);
}

static const struct list {
    const char *name;
    unsigned numbers; /* of an item */
    int (*get)(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number);
    int (*take)(struct mt_replay *replay, unsigned slot, const uint64_t *number);
    void (*clear)(struct mt_replay *replay); /* first; such a list is told if it is empty, too */
} lists[] = {
    {"by_others", 3, get_by_others, take_by_others, clear_by_others},
    {"ooms", 2, get_oom, take_oom, NULL},
    {"ranges", 4, get_range, take_range, NULL},
    {"spans", 5, get_span, take_span, NULL},
    {"twice", 3, get_twice, take_twice, clear_twice},
};
#define LISTS (sizeof lists / sizeof *lists)

/* As many records as it takes. */
static int tell_list(const struct teller *teller, const struct list *list, unsigned slot)
{
    char text[MT_TEXT_LIMIT];
    uint64_t number[MOST_NUMBERS];
    size_t i = 0, begin;
    int rc = 0;
    for (unsigned part = 0; !rc; part++) {
        size_t n = (size_t)snprintf(text, sizeof text, MT_WHOLE "%s.%d.%u=", list->name,
                                    (int)slot - 1, part);
        for (begin = i; n + ITEM_TEXT < sizeof text && list->get(teller->whole, slot, i, number);
             i++)
            for (unsigned j = 0; j < list->numbers; j++)
                n += (size_t)snprintf(text + n, sizeof text - n, "%" PRIu64 "%c", number[j],
                                      j + 1 < list->numbers ? ' ' : ',');
        if (begin == i && (part || slot || !list->clear))
            break;
        rc = teller->tell(teller->data, text);
    }
    return rc;
}

static int take_items(struct mt_replay *replay, const struct list *list, unsigned slot,
                      const char *text)
{
    uint64_t number[MOST_NUMBERS];
    int rc = 0;
    while (*text && !rc) {
        for (unsigned j = 0; j < list->numbers; j++) {
            char *end;
            number[j] = strtoull(text, &end, 10);
            if (end == text || *end != (j + 1 < list->numbers ? ' ' : ','))
                return 0; /* a later version's, or damaged: the rest is not known */
            text = end + 1;
        }
        rc = list->take(replay, slot, number);
    }
    return rc;
}

static int take_list(struct mt_replay *replay, const struct list *list, unsigned slot)
{
    const char *text;
    int rc = 0;
    for (unsigned part = 0; !rc && (text = told_part(replay, list->name, slot, part)); part++) {
        if (!part && list->clear)
            list->clear(replay);
        rc = take_items(replay, list, slot, text);
    }
    return rc;
}

/* --- the whole ------------------------------------------------------------------------------ */

static int tell_worst(const struct teller *teller, unsigned slot, const struct mt_worst *worst)
{
    char text[192];
    snprintf(text, sizeof text,
             MT_WHOLE "worst.%d=%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                      " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32,
             (int)slot - 1, worst->times, worst->time_ns, worst->event, worst->wanted,
             worst->lay_free, worst->reserved, worst->stack, worst->node_name, worst->unlabelled);
    return worst->times ? teller->tell(teller->data, text) : 0;
}

/* What is told of the whole run: over time, and of places. */
static int tell_device(const struct teller *teller, unsigned slot)
{
    char text[MT_TEXT_LIMIT];
    const struct mt_places *places = &teller->whole->places[slot];
    int n = snprintf(text, sizeof text, MT_WHOLE "chart.%d=", (int)slot - 1), rc;
    mt_timeline_print(&teller->whole->timeline[slot], text + n, sizeof text - (size_t)n);
    rc = teller->tell(teller->data, text);
    if (!rc)
        rc = tell_worst(teller, slot, &teller->whole->worst[slot]);
    for (size_t i = 0, part = 0; !rc && i < places->n; part++) {
        n = snprintf(text, sizeof text, MT_WHOLE "places.%d.%zu=", (int)slot - 1, part);
        i = mt_places_print(places, i, text + n, sizeof text - (size_t)n);
        rc = teller->tell(teller->data, text);
    }
    return rc;
}

int mt_whole_tell(const struct mt_replay *whole, int (*tell)(void *data, const char *text),
                  void *data)
{
    char text[128];
    const struct teller teller = {whole, tell, data};
    const struct mt_oddities *odd = &whole->oddities;
    snprintf(text, sizeof text, MT_WHOLE "oddities=%llu %llu %llu %llu",
             (unsigned long long)odd->replaced, (unsigned long long)odd->unknown,
             (unsigned long long)odd->wrong_size, (unsigned long long)odd->drift);
    int rc = tell(data, text);
    for (unsigned slot = 0; !rc && slot < MT_DEVICES; slot++) {
        if (whole->timeline[slot].change)
            rc = tell_device(&teller, slot);
        for (size_t i = 0; !rc && i < LISTS; i++)
            rc = tell_list(&teller, &lists[i], slot);
    }
    return rc;
}

/* As a compact trace tells them, in one or several records. */
static int take_places(struct mt_replay *replay, unsigned slot)
{
    const char *text;
    int rc = 0;
    for (unsigned part = 0; !rc && (text = told_part(replay, "places", slot, part)); part++) {
        if (!part)
            mt_places_clear(&replay->places[slot]);
        rc = mt_places_parse(&replay->places[slot], replay->definitions, text);
    }
    return rc == -ENOMEM ? rc : 0;
}

/* Those of the whole trace, since totals leap where blocks are missing. */
static void take_oddities(struct mt_oddities *odd, const char *text)
{
    *odd = (struct mt_oddities){0};
    if (text)
        sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &odd->replaced, &odd->unknown,
               &odd->wrong_size, &odd->drift);
}

static void take_worst(struct mt_replay *replay, unsigned slot)
{
    struct mt_worst worst = {0};
    const char *text = told(replay, "worst", slot);
    replay->worst[slot] = worst;
    if (text && sscanf(text,
                       "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                       " %" SCNu32 " %" SCNu32 " %" SCNu32,
                       &worst.times, &worst.time_ns, &worst.event, &worst.wanted, &worst.lay_free,
                       &worst.reserved, &worst.stack, &worst.node_name, &worst.unlabelled) == 9)
        replay->worst[slot] = worst;
    if (replay->question.no_labels) {
        replay->worst[slot].stack = worst.unlabelled;
        replay->worst[slot].node_name = 0;
    }
}

/* A compact trace tells what only all blocks can show, since it has not all. */
int mt_whole_take(struct mt_replay *replay)
{
    int rc = 0;
    if (!mt_info(replay->definitions, "compact"))
        return 0;
    take_oddities(&replay->oddities, mt_info(replay->definitions, MT_WHOLE "oddities"));
    for (unsigned slot = 0; !rc && slot < MT_DEVICES; slot++) {
        for (size_t i = 0; !rc && i < LISTS; i++)
            rc = take_list(replay, &lists[i], slot);
        const char *chart = told(replay, "chart", slot);
        if (!rc && chart && replay->timeline[slot].change)
            rc = mt_timeline_parse(&replay->timeline[slot], chart) == -ENOMEM ? -ENOMEM : 0;
        take_worst(replay, slot);
        if (!rc && replay->question.whole_run)
            rc = take_places(replay, slot);
    }
    return rc;
}
