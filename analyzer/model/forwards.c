/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forwards that are not part of an iteration: a program's own evaluation, outside any framework's
 * loop. The code that last calls a model before a backward trains it. What is called equally often
 * before each of its backwards is part of the iteration, too: a teacher, a discriminator's fakes,
 * microbatches. What is called only before some of them, more often than before most, or after the
 * last one, is an evaluation.
 */
#include "analyzer/support/search.h"
#include "spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MOST 256u /* a program has few; further ones are not distinguished */
#define BACKWARDS_LEAST                                                                            \
    2u /* in a truncated run, a caller that has not trained yet may still do so */
#define ALL UINT32_MAX

/* Calls by one caller before the backwards that follow another one's, or its own. */
struct pair {
    uint32_t trains, caller;
    uint32_t first, last;     /* number of backwards that it was called before */
    uint32_t without;         /* number of backwards in between without a call */
    uint32_t least, at_least; /* the fewest calls before a backward, and how many had so few */
    uint32_t now, rest;       /* calls before the current backward, and those of an evaluation */
    uint32_t backwards;       /* of its own: so many, */
    uint32_t before;          /* and it stands for this caller, before which it is called */
};

struct pairs {
    struct pair of[PAIRS_MOST];
    size_t n;
};

static bool is_forward(const struct mt_span *span)
{
    return span->phase == MT_PHASE_FORWARD && !span->is_evaluation;
}

/* Return the pair, adding it if it is new; NULL: too many. */
static struct pair *pair_of(struct pairs *pairs, uint32_t trains, uint32_t caller)
{
    size_t i = 0;
    while (i < pairs->n && (pairs->of[i].trains != trains || pairs->of[i].caller != caller))
        i++;
    if (i == PAIRS_MOST)
        return NULL;
    if (i == pairs->n)
        pairs->of[pairs->n++] = (struct pair){.trains = trains, .caller = caller};
    return &pairs->of[i];
}

static bool trains(const struct pairs *pairs, uint32_t caller)
{
    for (size_t i = 0; i < pairs->n; i++)
        if (pairs->of[i].trains == caller)
            return true;
    return false;
}

static bool begins_with_call(const struct mt_span *span)
{
    return is_forward(span) && span->caller;
}

/* Return whether memory ran out in a forward that trains, and it ended there: an attempt, not an
 * evaluation. */
static bool is_attempt(const struct pairs *pairs, const struct mt_spans *spans, size_t i)
{
    const struct mt_span *span = &spans->span[i];
    return span->failed && is_forward(span) && trains(pairs, span->caller) &&
           (i + 1 == spans->n || span[1].called - span->failed + 1 <= begins_with_call(span + 1));
}

/* Return how many calls of modules began in a span. */
static uint32_t calls_in(const struct mt_spans *spans, size_t i)
{
    const struct mt_span *span = &spans->span[i];
    if (i + 1 == spans->n)
        return 1;
    return span[1].called - span->called + !begins_with_call(span + 1);
}

/* Return the caller of the last module in some forwards; 0: unknown. */
static uint32_t last_caller(const struct mt_spans *spans, size_t first, size_t end)
{
    while (end > first && !(is_forward(&spans->span[end - 1]) && spans->span[end - 1].caller))
        end--;
    return end > first ? spans->span[end - 1].caller : 0;
}

void mt_spans_pending(const struct mt_spans *spans, uint64_t event, struct mt_pending *pending)
{
    struct mt_spans list = *spans;
    if (spans->part) {
        list.span = spans->part;
        list.n = spans->n_parts;
    }
    size_t end = MT_LEADING(i, list.n, list.span[i].event <= event), first;
    while (end && list.span[end - 1].phase == MT_PHASE_BACKWARD)
        end--;
    for (first = end; first && (is_forward(&list.span[first - 1]) ||
                                list.span[first - 1].phase == MT_PHASE_OUTSIDE);)
        first--;
    *pending = (struct mt_pending){.caller = last_caller(&list, first, end)};
    for (size_t i = first; i < end && pending->caller; i++) {
        if (!begins_with_call(&list.span[i]) || list.span[i].caller != pending->caller)
            continue;
        pending->calls += calls_in(&list, i);
        pending->begin = pending->begin ? pending->begin : list.span[i].event;
    }
    pending->end = end < list.n ? list.span[end].event : UINT64_MAX;
}

/* Return the caller whose backward follows some forwards: that of their last module. */
static uint32_t whose(struct pairs *pairs, const struct mt_spans *spans, size_t first, size_t end)
{
    uint32_t by = last_caller(spans, first, end);
    const struct pair *own = by ? pair_of(pairs, by, by) : NULL;
    return own && own->before ? own->before : by;
}

static void count_calls(struct pairs *pairs, const struct mt_spans *spans, size_t first, size_t end,
                        uint32_t by)
{
    for (size_t i = first; i < end; i++) {
        const struct mt_span *span = &spans->span[i];
        struct pair *pair = begins_with_call(span) && !is_attempt(pairs, spans, i)
                                ? pair_of(pairs, by, span->caller)
                                : NULL;
        if (pair)
            pair->now += calls_in(spans, i);
    }
}

/* Note the calls before a backward, the n-th of this caller. */
static void note_backward(struct pairs *pairs, uint32_t by, uint32_t n)
{
    for (size_t i = 0; i < pairs->n; i++) {
        struct pair *pair = &pairs->of[i];
        if (pair->trains != by || !pair->now)
            continue;
        pair->without += pair->first ? n - pair->last - 1 : 0;
        pair->first = pair->first ? pair->first : n;
        pair->last = n;
        if (!pair->at_least || pair->now < pair->least) {
            pair->least = pair->now;
            pair->at_least = 0;
        }
        pair->at_least += pair->least == pair->now;
        pair->now = 0;
    }
}

/* Return how many of the calls before a backward are part of the iteration, if most backwards have
 * that many; sequences differ in length. */
static uint32_t usual(struct pairs *pairs, const struct pair *pair)
{
    uint32_t n = pair_of(pairs, pair->trains, pair->trains)->backwards,
             of = pair->last - pair->first + 1;
    if (pair->trains == pair->caller)
        return 2 * pair->at_least < of - pair->without ? ALL : pair->least;
    if (of == 1)
        return n > 2 ? 0 : ALL;
    uint32_t at = pair->without ? pair->without : pair->at_least;
    return 2 * at < of ? ALL : pair->without ? 0 : pair->least;
}

/* Mark the earliest excess forwards before a backward. */
static void mark(struct pairs *pairs, struct mt_spans *spans, size_t first, size_t end, uint32_t by)
{
    count_calls(pairs, spans, first, end, by);
    for (size_t i = 0; i < pairs->n; i++) {
        struct pair *pair = &pairs->of[i];
        uint32_t of_iteration = pair->trains == by && pair->now ? usual(pairs, pair) : ALL;
        pair->rest = pair->now > of_iteration ? pair->now - of_iteration : 0;
        pair->now = 0;
    }
    bool is_apart = false;
    for (size_t i = first; i < end; i++) {
        struct mt_span *span = &spans->span[i];
        bool is_tried = is_attempt(pairs, spans, i);
        struct pair *pair =
            begins_with_call(span) && !is_tried ? pair_of(pairs, by, span->caller) : NULL;
        uint32_t calls = pair ? calls_in(spans, i) : 0;
        if (pair) {
            is_apart = calls <= pair->rest;
            pair->rest -= is_apart ? calls : pair->rest;
        }
        span->is_apart = is_apart && is_forward(span) && !is_tried;
    }
}

/* Return whether a caller is an evaluation that follows the last backward. */
static bool evaluates(struct pairs *pairs, uint32_t caller)
{
    bool is_known = false;
    if (!caller || trains(pairs, caller))
        return false;
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair *pair = &pairs->of[i];
        if (pair->caller == caller && usual(pairs, pair))
            return false;
        is_known |= pair->trains == pair->caller && pair->backwards >= BACKWARDS_LEAST;
    }
    return is_known;
}

/* Note what is called after the last backward, but not before the first: it evaluates after each.
 */
static void note_last(struct pairs *pairs, const struct mt_spans *spans, size_t first)
{
    for (size_t i = first; i < spans->n; i++) {
        uint32_t caller = is_forward(&spans->span[i]) ? spans->span[i].caller : 0;
        for (size_t j = 0; caller && !trains(pairs, caller) && j < pairs->n; j++)
            if (pairs->of[j].caller == caller && pairs->of[j].first > 1)
                pairs->of[j].without = pairs->of[j].last;
    }
}

static void mark_last(struct pairs *pairs, struct mt_spans *spans, size_t first, bool is_broken_off)
{
    uint32_t caller = last_caller(spans, first, spans->n);
    if (is_broken_off && trains(pairs, caller))
        mark(pairs, spans, first, spans->n, whose(pairs, spans, first, spans->n));
    for (size_t i = first; i < spans->n; i++)
        if (is_forward(&spans->span[i]) && !is_attempt(pairs, spans, i))
            spans->span[i].is_apart |= !is_broken_off || evaluates(pairs, spans->span[i].caller);
}

/* Apply a function to the forwards before each backward, to count or mark them. Return where those
 * after the last backward or step begin. */
static size_t follow(struct pairs *pairs, struct mt_spans *spans, bool marks)
{
    size_t first = 0;
    for (size_t i = 0; i < spans->n; i++) {
        const struct mt_span *span = &spans->span[i];
        if (span->is_evaluation || is_forward(span))
            continue;
        uint32_t by = span->phase == MT_PHASE_BACKWARD ? whose(pairs, spans, first, i) : 0;
        struct pair *own = by ? pair_of(pairs, by, by) : NULL;
        if (own && marks) {
            mark(pairs, spans, first, i, by);
        } else if (own) {
            count_calls(pairs, spans, first, i, by);
            note_backward(pairs, by, ++own->backwards);
        }
        first = i + 1;
    }
    return first;
}

/* Assign the backwards of a caller that is also called before another one to that one. A loss is a
 * separate call only if something happened since the model's. Reset the counts. */
static void unite(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair *pair = &pairs->of[i], *by = pair_of(pairs, pair->trains, pair->trains);
        if (by == pair || !trains(pairs, pair->caller))
            continue;
        struct pair *own = pair_of(pairs, pair->caller, pair->caller);
        if (own->backwards < by->backwards)
            own->before = by->caller;
    }
    for (size_t i = 0; i < pairs->n; i++)
        pairs->of[i] = (struct pair){.trains = pairs->of[i].trains,
                                     .caller = pairs->of[i].caller,
                                     .before = pairs->of[i].before};
}

void mt_spans_part_forwards(struct mt_spans *spans, bool has_backward, bool is_broken_off)
{
    struct pairs pairs = {.n = 0};
    for (size_t i = 0; i < spans->n; i++)
        spans->span[i].is_apart = false;
    if (!has_backward)
        return;
    follow(&pairs, spans, false);
    unite(&pairs);
    size_t last = follow(&pairs, spans, false);
    if (!is_broken_off)
        note_last(&pairs, spans, last);
    follow(&pairs, spans, true);
    mark_last(&pairs, spans, last, is_broken_off);
}

bool mt_spans_begin_training(struct mt_spans *spans)
{
    struct pairs pairs = {.n = 0};
    size_t first = 0, last = spans->n;
    while (first < spans->n && !(is_forward(&spans->span[first]) && spans->span[first].makes_graph))
        first++;
    while (last && !is_forward(&spans->span[last - 1]))
        last--;
    if (first + 1 != last || spans->past.iterations)
        return false;
    count_calls(&pairs, spans, 0, first, 0);
    for (size_t i = 0; i < first; i++) {
        struct mt_span *span = &spans->span[i];
        const struct pair *pair = begins_with_call(span) ? pair_of(&pairs, 0, span->caller) : NULL;
        span->is_apart = pair && pair->now > 1;
    }
    return true;
}

void mt_span_join(struct mt_span *span, const struct mt_span *next)
{
    span->left = next->left;
    span->makes_graph = next->makes_graph;
    span->failed = next->failed ?: span->failed;
    span->least = next->least < span->least ? next->least : span->least;
    if (next->most <= span->most)
        return;
    span->most = next->most;
    span->most_event = next->most_event;
    span->most_time_ns = next->most_time_ns;
    span->most_reserved = next->most_reserved;
}

int mt_spans_merge(struct mt_spans *spans)
{
    size_t capacity = spans->n - spans->n_cut, n = 0;
    if (!spans->n_cut || spans->part)
        return 0;
    struct mt_span *merged = malloc(capacity * sizeof *merged);
    if (!merged)
        return -ENOMEM;
    for (size_t i = 0; i < spans->n; i++)
        if (n && merged[n - 1].run == spans->span[i].run)
            mt_span_join(&merged[n - 1], &spans->span[i]);
        else
            merged[n++] = spans->span[i];
    spans->part = spans->span;
    spans->n_parts = spans->n;
    spans->span = merged;
    spans->n = n;
    spans->capacity = capacity;
    return 0;
}

bool mt_spans_may_turn(const struct mt_spans *spans)
{
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].is_evaluation || spans->span[i].serving)
            return false;
    return spans->counted == MT_COUNTED_NOT || spans->counted == MT_COUNTED_FORWARDS;
}

void mt_spans_free_parts(struct mt_spans *spans)
{
    for (size_t i = 0; i < spans->n; i++)
        if (mt_span_is_beside(spans, &spans->span[i]))
            return;
    free(spans->part);
    spans->part = NULL;
    spans->n_parts = 0;
}
