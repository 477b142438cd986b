/* SPDX-License-Identifier: Apache-2.0 */
/* Figures that need all events of a trace, as a compact copy's lists of numbers. Numbers of events
 * are the copy's. */
#include "summary-lists.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "number.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MOST_NUMBERS 15u
#define RESERVED_NUMBERS 8u

static bool get_oddities(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_oddities *odd = &replay->oddities;
    if (slot || i)
        return false;
    const uint64_t numbers[] = {odd->replaced, odd->unknown, odd->wrong_size, odd->drift};
    memcpy(number, numbers, sizeof numbers);
    return true;
}

/* Take the whole trace's: in the copy, totals jump where blocks are missing. */
static int take_oddities(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    (void)slot;
    replay->oddities = (struct mt_oddities){
        .replaced = number[0], .unknown = number[1], .wrong_size = number[2], .drift = number[3]};
    return 0;
}

static bool get_worst_of(const struct mt_worst *worst, size_t i, uint64_t *number)
{
    if (i || !worst->times)
        return false;
    const uint64_t numbers[] = {worst->times,  worst->time_ns,   worst->event,
                                worst->wanted, worst->lay_free,  worst->reserved,
                                worst->stack,  worst->node_name, worst->unlabelled};
    memcpy(number, numbers, sizeof numbers);
    return true;
}

static int take_worst_of(struct mt_worst *worst, bool no_labels, const uint64_t *number)
{
    uint32_t unlabelled = (uint32_t)number[8];
    *worst = (struct mt_worst){.times = number[0],
                               .time_ns = number[1],
                               .event = number[2],
                               .wanted = number[3],
                               .lay_free = number[4],
                               .reserved = number[5],
                               .stack = no_labels ? unlabelled : (uint32_t)number[6],
                               .node_name = no_labels ? 0 : (uint32_t)number[7],
                               .unlabelled = unlabelled};
    return 0;
}

/* A list of each kind of free memory. */
#define WORST(name, kind)                                                                          \
    static bool get_##name(const struct mt_replay *replay, unsigned slot, size_t i,                \
                           uint64_t *number)                                                       \
    {                                                                                              \
        return get_worst_of(&replay->reserved.worst[kind][slot], i, number);                       \
    }                                                                                              \
    static int take_##name(struct mt_replay *replay, unsigned slot, const uint64_t *number)        \
    {                                                                                              \
        return take_worst_of(&replay->reserved.worst[kind][slot], replay->question.no_labels,      \
                             number);                                                              \
    }
WORST(worst, MT_FREE_PIECES)
WORST(worst_whole, MT_FREE_WHOLE)
WORST(worst_others, MT_FREE_OTHERS)

/* Return the slot's pool of that number, from 1; NULL: there are fewer. */
static const struct mt_stream_pool *pool_of(const struct mt_stream_pools *pools, unsigned slot,
                                            size_t number)
{
    for (size_t i = 1; i < pools->n; i++)
        if (pools->pool[i].slot == slot && !--number)
            return &pools->pool[i];
    return NULL;
}

static bool get_reserved(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_totals *most = &replay->reserved.most[slot];
    const struct mt_stream_pool *pool = i ? pool_of(&replay->reserved.pools, slot, i) : NULL;
    if (i ? !pool : !most->event)
        return false;
    const uint64_t totals[RESERVED_NUMBERS] = {0, most->time_ns, most->event, most->reserved,
                                               most->allocated};
    const uint64_t of_pool[RESERVED_NUMBERS] = {1,
                                                pool ? pool->stream : 0,
                                                pool ? pool->pool : 0,
                                                pool ? pool->most.reserved : 0,
                                                pool ? pool->most.allocated : 0,
                                                pool ? pool->most.stack : 0,
                                                pool ? pool->most.range : 0,
                                                pool ? pool->nth : 0};
    memcpy(number, pool ? of_pool : totals, sizeof totals);
    return true;
}

static int take_reserved(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    struct mt_totals *most = &replay->reserved.most[slot];
    struct mt_stream_pools *pools = &replay->reserved.pools;
    const struct mt_request_stream of = {.stream = number[1], .pool = number[2], .slot = slot};
    uint16_t place;
    if (!number[0]) {
        most->time_ns = number[1];
        most->event = number[2];
        most->reserved = number[3];
        most->allocated = number[4];
        return 0;
    }
    if (mt_stream_pools_number(pools, &of, &place))
        return -ENOMEM;
    if (!place)
        return 0;
    pools->pool[place].nth = (uint32_t)number[7];
    pools->pool[place].most = (struct mt_stream_pool_most){.reserved = number[3],
                                                           .allocated = number[4],
                                                           .stack = (uint32_t)number[5],
                                                           .range = (uint32_t)number[6]};
    return 0;
}

static void clear_reserved(struct mt_replay *replay, unsigned slot)
{
    struct mt_stream_pools *pools = &replay->reserved.pools;
    for (size_t i = 1; i < pools->n; i++)
        if (pools->pool[i].slot == slot)
            pools->pool[i].most = (struct mt_stream_pool_most){0};
}

static bool get_place(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_places *places = &replay->places[slot];
    if (i >= places->n)
        return false;
    const struct mt_place *place = &places->place[i];
    const uint64_t numbers[] = {place->stack, place->node_name, place->allocations, place->most,
                                place->phases};
    memcpy(number, numbers, sizeof numbers);
    return true;
}

static int take_place(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    const struct mt_place place = {.stack = (uint32_t)number[0],
                                   .node_name = (uint32_t)number[1],
                                   .allocations = number[2],
                                   .most = number[3],
                                   .phases = number[4],
                                   .saved = number[2]}; /* unknown: no comparison calls it new */
    return replay->question.whole_run
               ? mt_places_add(&replay->places[slot], replay->definitions, &place)
               : 0;
}

static void clear_places(struct mt_replay *replay, unsigned slot)
{
    if (replay->question.whole_run)
        mt_places_clear(&replay->places[slot]);
}

/* Get a phase's totals of a device that PyTorch does not use: they need all of its memory. */
static bool get_span(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_spans *spans = &replay->spans[slot];
    if (!mt_replay_is_of_cuda(replay, slot) || i >= spans->n || spans->turns)
        return false;
    const struct mt_span *span = &spans->span[i];
    const uint64_t numbers[] = {span->run, span->least, span->most, span->most_time_ns,
                                span->most_reserved};
    memcpy(number, numbers, sizeof numbers);
    return true;
}

static int take_span(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    struct mt_spans *spans = &replay->spans[slot];
    const struct mt_span *found = mt_spans_at(spans, (uint32_t)number[0], 0);
    if (!found || found->run != number[0])
        return 0;
    struct mt_span *span = &spans->span[found - spans->span];
    span->least = number[1];
    span->most = number[2];
    span->most_time_ns = number[3];
    span->most_reserved = number[4];
    return 0;
}

static bool get_range(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_ranges *ranges = &replay->tracker.ranges;
    if (!mt_replay_is_of_cuda(replay, slot) || i >= ranges->device[slot].n)
        return false;
    const struct mt_range_most *most = &ranges->device[slot].most[i];
    const uint64_t numbers[] = {i, most->bytes, most->time_ns, most->event};
    memcpy(number, numbers, sizeof numbers);
    return true;
}

/* Take a range: if the copy has the same total at another time, the whole trace's came earlier. */
static int take_range(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    struct mt_ranges *ranges = &replay->tracker.ranges;
    const struct mt_range_most most = {number[1], number[2], number[3]};
    if (!most.event || number[0] >= ranges->n_ranges)
        return 0;
    if (number[0] < ranges->device[slot].n)
        ranges->device[slot].most[number[0]] = (struct mt_range_most){0};
    return mt_ranges_note(ranges, slot, (uint32_t)number[0], &most);
}

/* Get CUDA's allocated bytes at an out-of-memory; PyTorch's events have their own. */
static bool get_oom(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    if (slot || i >= MT_OOMS_KEPT || i >= replay->ooms.n)
        return false;
    number[0] = replay->ooms.kept[i].time_ns;
    number[1] = replay->ooms.kept[i].allocated;
    return true;
}

static int take_oom(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    (void)slot;
    for (size_t i = 0; i < MT_OOMS_KEPT && i < replay->ooms.n; i++)
        if (replay->ooms.kept[i].of_cuda && replay->ooms.kept[i].time_ns == number[0])
            replay->ooms.kept[i].allocated = replay->ooms.kept[i].reserved = number[1];
    return 0;
}

static bool get_sum(const struct mt_sums *sums, size_t i, uint64_t *number)
{
    if (i >= sums->n)
        return false;
    number[0] = sums->sum[i].stack;
    number[1] = sums->sum[i].bytes;
    number[2] = sums->sum[i].blocks;
    return true;
}

static int take_sum(struct mt_sums *sums, const uint64_t *number)
{
    if (mt_sums_count(sums, (uint32_t)number[0], number[1]))
        return -ENOMEM;
    sums->sum[sums->n - 1].blocks += number[2] - 1;
    sums->blocks += number[2] - 1;
    return 0;
}

static bool get_twice(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    return !slot && get_sum(&replay->cuda.twice, i, number);
}

static int take_twice(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    (void)slot;
    return take_sum(&replay->cuda.twice, number);
}

static bool get_by_others(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    return !slot && get_sum(&replay->cuda.by_others, i, number);
}

static int take_by_others(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    (void)slot;
    return take_sum(&replay->cuda.by_others, number);
}

static void clear_twice(struct mt_replay *replay, unsigned slot)
{
    (void)slot;
    mt_sums_clear(&replay->cuda.twice);
}

static void clear_by_others(struct mt_replay *replay, unsigned slot)
{
    (void)slot;
    mt_sums_clear(&replay->cuda.by_others);
}

/* The program's loop: stack, line, thread, flags (bit 0: it calls modules, 1: its turns are steps,
 * 2: other threads have other numbers of turns; from 8: how many threads), the event that ends it,
 * and the string of ranges that are its turns. */
#define MT_LOOP_NUMBERS 6u
#define MT_LOOP_ENDS (1u << 4) /* bits of the numbers that are events */

static uint64_t flags_of_loop(const struct mt_turns *turns)
{
    return (uint64_t)turns->threads << 8 | (uint64_t)turns->differ << 2 |
           (uint64_t)turns->are_steps << 1 | turns->in_forward;
}

static bool get_loop(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_turns *turns = &replay->turns;
    if (slot || i || !(turns->n || turns->frame))
        return false;
    const uint64_t numbers[MT_LOOP_NUMBERS] = {turns->stack,         turns->line, turns->thread,
                                               flags_of_loop(turns), turns->end,  turns->named};
    memcpy(number, numbers, sizeof numbers);
    return true;
}

static int take_loop(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    struct mt_turns *turns = &replay->turns;
    (void)slot;
    mt_turns_clear(turns);
    mt_turns_name(turns, replay->definitions, (uint32_t)number[0]);
    turns->line = (uint32_t)number[1];
    turns->thread = (uint32_t)number[2];
    turns->in_forward = number[3] & 1;
    turns->are_steps = number[3] >> 1 & 1;
    turns->differ = number[3] >> 2 & 1;
    turns->threads = (uint32_t)(number[3] >> 8);
    turns->end = number[4];
    turns->named = (uint32_t)number[5];
    if (turns->named)
        mt_turn_name(turns->name, sizeof turns->name, mt_string(replay->definitions, turns->named));
    mt_replay_set_loop(replay);
    return 0;
}

/* Its turns: the event that begins each, and whether the loop begins again there. */
#define MT_TURN_NUMBERS 2u
#define MT_TURN_BEGINS (1u << 0)

static bool get_turn(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_turns *turns = &replay->turns;
    if (slot || i >= turns->n)
        return false;
    size_t first = MT_LEADING(k, turns->n_first, turns->first[k] < i);
    number[0] = turns->begin[i];
    number[1] = first < turns->n_first && turns->first[first] == i;
    return true;
}

static int take_turn(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    struct mt_turns *turns = &replay->turns;
    (void)slot;
    if (turns->n && turns->begin[turns->n - 1] > number[0])
        return 0;
    if (number[1] &&
        MT_APPEND(turns->first, turns->first_capacity, turns->n_first, (uint32_t)turns->n))
        return -ENOMEM;
    return MT_APPEND(turns->begin, turns->capacity, turns->n, number[0]);
}

/* A device's spans, cut by these turns: iteration, event, before, most_event, run, calls, called,
 * caller, flags, time_ns, most_time_ns, least, most, left, most_reserved. */
#define MT_TURN_SPAN_NUMBERS 15u
#define MT_TURN_SPAN_PLACES (1u << 1 | 1u << 2 | 1u << 3)

/* The members of a span that are small, in one number: each has its bits. */
#define SPAN_FLAGS(X)                                                                              \
    X(phase, 0, 0xff)                                                                              \
    X(serving, 8, 0xff)                                                                            \
    X(turn, 16, 0xff)                                                                              \
    X(makes_graph, 24, 0xff)                                                                       \
    X(has_called, 32, 1)                                                                           \
    X(is_evaluation, 33, 1)                                                                        \
    X(is_apart, 34, 1)                                                                             \
    X(is_past, 35, 1)

static uint64_t flags_of(const struct mt_span *span)
{
    uint64_t flags = 0;
#define PUT(member, shift, mask) flags |= ((uint64_t)span->member & (mask)) << (shift);
    SPAN_FLAGS(PUT)
#undef PUT
    return flags;
}

static void set_flags(struct mt_span *span, uint64_t flags)
{
#define TAKE(member, shift, mask) span->member = flags >> (shift) & (mask);
    SPAN_FLAGS(TAKE)
#undef TAKE
    if (span->phase >= MT_PHASE_COUNT)
        span->phase = MT_PHASE_OUTSIDE;
}

static bool get_turn_span(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_spans *spans = &replay->spans[slot];
    if (!spans->turns || i >= spans->n)
        return false;
    const struct mt_span *span = &spans->span[i];
    const uint64_t numbers[MT_TURN_SPAN_NUMBERS] = {
        span->iteration,    span->event,  span->before, span->most_event, span->run,
        span->calls,        span->called, span->caller, flags_of(span),   span->time_ns,
        span->most_time_ns, span->least,  span->most,   span->left,       span->most_reserved};
    memcpy(number, numbers, sizeof numbers);
    return true;
}

static void clear_turn_spans(struct mt_replay *replay, unsigned slot)
{
    struct mt_spans *spans = &replay->spans[slot];
    spans->n = 0;
    mt_spans_count_turns(spans, &replay->turns);
}

static int take_turn_span(struct mt_replay *replay, unsigned slot, const uint64_t *number)
{
    struct mt_spans *spans = &replay->spans[slot];
    struct mt_span span = {.iteration = (uint32_t)number[0],
                           .event = number[1],
                           .before = number[2],
                           .most_event = number[3],
                           .run = (uint32_t)number[4],
                           .calls = (uint32_t)number[5],
                           .called = (uint32_t)number[6],
                           .caller = (uint32_t)number[7],
                           .time_ns = number[9],
                           .most_time_ns = number[10],
                           .least = number[11],
                           .most = number[12],
                           .left = number[13],
                           .most_reserved = number[14]};
    set_flags(&span, number[8]);
    if (span.iteration > spans->iterations ||
        (spans->n && (spans->span[spans->n - 1].event > span.event ||
                      spans->span[spans->n - 1].iteration > span.iteration)))
        return 0;
    return MT_APPEND(spans->span, spans->capacity, spans->n, span);
}

/* The place of a list in copies of older format versions: one info record, one for each device, or
 * several for each, numbered from 0. */
enum in_text { ONE, EACH_DEVICE, PARTS };

static const struct list {
    enum mt_summary what;
    enum in_text in_text;
    unsigned numbers; /* of an item; 0: the timeline */
    bool (*get)(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number);
    int (*take)(struct mt_replay *replay, unsigned slot, const uint64_t *number);
    void (*clear)(struct mt_replay *replay, unsigned slot); /* before the first is taken */
    bool is_listed_empty;                                   /* of slot 0 */
    bool is_of_used;                                        /* written for used devices */
    unsigned events; /* bits of numbers that are the copy's events */
} lists[] = {
    {MT_SUMMARY_ODDITIES, ONE, 4, get_oddities, take_oddities, NULL, 0, 0, 0},
    {MT_SUMMARY_CHART, EACH_DEVICE, 0, NULL, NULL, NULL, 0, 1, 0},
    {MT_SUMMARY_WORST, EACH_DEVICE, 9, get_worst, take_worst, NULL, 0, 1, 0},
    {MT_SUMMARY_WORST_WHOLE, EACH_DEVICE, 9, get_worst_whole, take_worst_whole, NULL, 0, 1, 0},
    {MT_SUMMARY_WORST_OTHERS, EACH_DEVICE, 9, get_worst_others, take_worst_others, NULL, 0, 1, 0},
    {MT_SUMMARY_RESERVED, PARTS, RESERVED_NUMBERS, get_reserved, take_reserved, clear_reserved, 0,
     1, 0},
    {MT_SUMMARY_PLACES, PARTS, 5, get_place, take_place, clear_places, 0, 1, 0},
    {MT_SUMMARY_BY_OTHERS, PARTS, 3, get_by_others, take_by_others, clear_by_others, 1, 0, 0},
    {MT_SUMMARY_OOMS, PARTS, 2, get_oom, take_oom, NULL, 0, 0, 0},
    {MT_SUMMARY_RANGES, PARTS, 4, get_range, take_range, NULL, 0, 0, 0},
    {MT_SUMMARY_SPANS, PARTS, 5, get_span, take_span, NULL, 0, 0, 0},
    {MT_SUMMARY_TWICE, PARTS, 3, get_twice, take_twice, clear_twice, 1, 0, 0},
    {MT_SUMMARY_LOOP, PARTS, MT_LOOP_NUMBERS, get_loop, take_loop, NULL, 0, 0, MT_LOOP_ENDS},
    {MT_SUMMARY_TURNS, PARTS, MT_TURN_NUMBERS, get_turn, take_turn, NULL, 0, 0, MT_TURN_BEGINS},
    {MT_SUMMARY_TURN_SPANS, PARTS, MT_TURN_SPAN_NUMBERS, get_turn_span, take_turn_span,
     clear_turn_spans, 0, 0, MT_TURN_SPAN_PLACES},
};
#define LISTS (sizeof lists / sizeof *lists)

static int gather(const struct mt_replay *whole, const struct list *list, unsigned slot,
                  const struct mt_renumber *renumber, struct mt_numbers *numbers)
{
    uint64_t number[MOST_NUMBERS];
    int rc = 0;
    if (!list->numbers)
        return mt_timeline_list(&whole->timeline[slot], numbers);
    for (size_t i = 0; !rc && list->get(whole, slot, i, number); i++) {
        for (unsigned j = 0; j < list->numbers; j++)
            if (list->events >> j & 1)
                number[j] = renumber->number(renumber->data, number[j]);
        rc = mt_numbers_add(numbers, number, list->numbers);
    }
    return rc;
}

static int list_one(const struct mt_replay *whole, const struct list *list, unsigned slot,
                    const struct mt_renumber *renumber, mt_definition_sink *sink, void *data)
{
    struct mt_numbers numbers = {0};
    if (list->is_of_used && !whole->timeline[slot].change)
        return 0;
    int rc = gather(whole, list, slot, renumber, &numbers);
    if (!rc && (numbers.n || (list->is_listed_empty && !slot)))
        rc = mt_numbers_list(&numbers, list->what, (int)slot - 1, sink, data);
    mt_numbers_clear(&numbers);
    return rc;
}

int mt_summary_list(const struct mt_replay *whole, const struct mt_renumber *renumber,
                    mt_definition_sink *sink, void *data)
{
    int rc = 0;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        for (size_t i = 0; !rc && i < LISTS; i++)
            rc = list_one(whole, &lists[i], slot, renumber, sink, data);
    return rc;
}

/* Return the value of an info record of an older copy; NULL: none. */
static const char *text_of(const struct mt_replay *replay, const struct list *list, unsigned slot,
                           unsigned part)
{
    char key[64];
    const char *name = mt_summary_name(list->what);
    if ((list->in_text == ONE && slot) || (list->in_text != PARTS && part))
        return NULL;
    if (list->in_text == ONE)
        snprintf(key, sizeof key, MT_WHOLE "%s", name);
    else if (list->in_text == EACH_DEVICE)
        snprintf(key, sizeof key, MT_WHOLE "%s.%d", name, (int)slot - 1);
    else
        snprintf(key, sizeof key, MT_WHOLE "%s.%d.%u", name, (int)slot - 1, part);
    return mt_info(replay->definitions, key);
}

/* Return 1; 0: the copy does not have the list; or -ENOMEM. */
static int find(const struct mt_replay *replay, const struct list *list, unsigned slot,
                struct mt_numbers *numbers)
{
    const char *text;
    unsigned part = 0;
    int found = mt_summaries_find(&replay->summaries, list->what, (int)slot - 1, numbers);
    if (found)
        return found;
    for (; (text = text_of(replay, list, slot, part)); part++) {
        int rc = mt_numbers_add_text(numbers, text, list->in_text != PARTS);
        if (rc == -ENOMEM || (rc && !list->numbers))
            return rc == -ENOMEM ? rc : 0; /* a timeline is whole, or none */
    }
    return part > 0;
}

static int take_numbers(struct mt_replay *replay, const struct list *list, unsigned slot,
                        const struct mt_numbers *numbers)
{
    struct mt_timeline *timeline = &replay->timeline[slot];
    int rc = 0;
    if (!list->numbers)
        return timeline->change && mt_timeline_take(timeline, numbers) == -ENOMEM ? -ENOMEM : 0;
    if (list->clear)
        list->clear(replay, slot);
    for (size_t i = 0; !rc && i + list->numbers <= numbers->n; i += list->numbers)
        rc = list->take(replay, slot, numbers->at + i);
    return rc;
}

static int take_list(struct mt_replay *replay, const struct list *list, unsigned slot)
{
    struct mt_numbers numbers = {0};
    int found = find(replay, list, slot, &numbers);
    int rc = found > 0 ? take_numbers(replay, list, slot, &numbers) : found;
    mt_numbers_clear(&numbers);
    return rc;
}

int mt_summary_take(struct mt_replay *replay)
{
    int rc = 0;
    if (!mt_info(replay->definitions, "compact"))
        return 0;
    replay->oddities = (struct mt_oddities){0};
    memset(replay->reserved.worst, 0, sizeof replay->reserved.worst);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        for (size_t i = 0; !rc && i < LISTS; i++)
            rc = take_list(replay, &lists[i], slot);
    return rc;
}
