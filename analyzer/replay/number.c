/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"
#include "replay.h"

#include <stdlib.h>

static bool is_by_training(const struct mt_spans *spans)
{
    return spans->counted == MT_COUNTED_STEPS || spans->counted == MT_COUNTED_BACKWARDS;
}

/* Return the device's spans with the most iterations; NULL: there are none. */
static const struct mt_spans *main_spans(const struct mt_replay *replay)
{
    const struct mt_spans *best = NULL;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        if (replay->spans[slot].iterations > (best ? best->iterations : 0))
            best = &replay->spans[slot];
    return best;
}

/* Of a program that trains, find the loop around its iterations. 0 or -ENOMEM. */
static int find_around(struct mt_replay *replay)
{
    const struct mt_spans *spans = main_spans(replay);
    size_t n = 0;
    if (!spans || !is_by_training(spans))
        return 0;
    uint64_t *event = calloc(spans->iterations, sizeof *event);
    if (!event)
        return -ENOMEM;
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].iteration > n && n < spans->iterations)
            event[n++] = spans->span[i].event;
    int rc = mt_turns_find_around(&replay->turns, &replay->visits, replay->definitions, event, n);
    free(event);
    return rc;
}

void mt_replay_set_loop(struct mt_replay *replay)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        if (is_by_training(&replay->spans[slot]))
            replay->spans[slot].loop = &replay->turns;
}

int mt_replay_number(struct mt_replay *replay)
{
    bool trains = false, calls = false, out = mt_replay_ends_in_oom(replay);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        struct mt_spans *spans = &replay->spans[slot];
        if (mt_spans_merge(spans))
            return -ENOMEM;
        replay->visits.gave_up |= spans->has_too_many;
        mt_spans_number(spans, out || replay->survey.state != MT_TRACE_CLOSED);
        trains |= spans->n && !mt_spans_may_turn(spans);
        calls |= spans->counted == MT_COUNTED_FORWARDS;
    }
    trains |= replay->survey.kinds[MT_NODE_BEGIN] > 0; /* which --no-labels does not see */
    /* A light recording and a compact copy lack most of the visits. */
    bool lacks = replay->survey.short_lived || mt_compact_of(replay->definitions) ||
                 replay->visits.gave_up || replay->question.no_turns;
    struct mt_turns *turns = &replay->turns;
    int rc = replay->question.no_turns
                 ? 0
                 : mt_named_turns_find(turns, &replay->named, replay->definitions);
    if (!rc && !turns->named && trains && !replay->question.no_turns &&
        !mt_compact_of(replay->definitions))
        rc = mt_trainers_find(turns, &replay->trainers, &replay->visits, replay->definitions,
                              out || replay->survey.state != MT_TRACE_CLOSED);
    if (!rc && !turns->n && !lacks)
        rc =
            trains
                ? find_around(replay)
                : mt_turns_find(turns, &replay->visits, replay->definitions,
                                &(struct mt_turns_range){.last = UINT64_MAX, .is_broken_off = out});
    if (trains && !turns->n && turns->frame)
        mt_replay_set_loop(replay);
    else if (turns->n < 2 || (calls && !turns->in_forward && !turns->named))
        mt_turns_clear(turns);
    for (unsigned slot = 0; !rc && turns->n && slot < MT_DEVICES; slot++)
        rc = mt_spans_turn(&replay->spans[slot], turns);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        mt_spans_free_parts(&replay->spans[slot]);
    return rc;
}
