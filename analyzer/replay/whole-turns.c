/* SPDX-License-Identifier: Apache-2.0 */
#include "whole-turns.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "number.h"

#include <errno.h>
#include <string.h>

static uint64_t flags_of_loop(const struct mt_turns *turns)
{
    return (uint64_t)turns->threads << 8 | (uint64_t)turns->differ << 2 |
           (uint64_t)turns->are_steps << 1 | turns->in_forward;
}

bool mt_whole_get_loop(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_turns *turns = &replay->turns;
    if (slot || i || !(turns->n || turns->frame))
        return false;
    const uint64_t numbers[MT_LOOP_NUMBERS] = {turns->stack,         turns->line, turns->thread,
                                               flags_of_loop(turns), turns->end,  turns->named};
    memcpy(number, numbers, sizeof numbers);
    return true;
}

int mt_whole_take_loop(struct mt_replay *replay, unsigned slot, const uint64_t *number)
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

bool mt_whole_get_turn(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number)
{
    const struct mt_turns *turns = &replay->turns;
    if (slot || i >= turns->n)
        return false;
    size_t first = MT_LEADING(k, turns->n_first, turns->first[k] < i);
    number[0] = turns->begin[i];
    number[1] = first < turns->n_first && turns->first[first] == i;
    return true;
}

int mt_whole_take_turn(struct mt_replay *replay, unsigned slot, const uint64_t *number)
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

bool mt_whole_get_turn_span(const struct mt_replay *replay, unsigned slot, size_t i,
                            uint64_t *number)
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

void mt_whole_clear_turn_spans(struct mt_replay *replay, unsigned slot)
{
    struct mt_spans *spans = &replay->spans[slot];
    spans->n = 0;
    mt_spans_count_turns(spans, &replay->turns);
}

int mt_whole_take_turn_span(struct mt_replay *replay, unsigned slot, const uint64_t *number)
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
