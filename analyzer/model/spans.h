/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's memory by phases: for each run of a phase (and the code outside the model after it)
 * the highest and the lowest total. Iterations, the next lower peaks and growth follow from these.
 * Its memory grows with iterations, not with events, and does not grow where the oldest are folded.
 */
#ifndef MT_SPANS_H
#define MT_SPANS_H

#include "trace-format/meaning/phase.h"

#include <stdbool.h>
#include <stddef.h>

struct mt_span {
    uint32_t run;           /* mt_when.run */
    uint32_t iteration;     /* from 1; 0: start-up. After mt_spans_number */
    uint32_t calls, called; /* as in mt_when, at its first event */
    uint32_t caller;        /* likewise */
    uint32_t steps;         /* likewise: one may have no event of the device */
    uint32_t failed;        /* `called` when memory last ran out in it, plus 1; 0: it did not */
    uint8_t phase;          /* enum mt_phase; OUTSIDE: start-up */
    bool has_called;        /* a module was called before, or here */
    uint8_t
        is_evaluation; /* a framework's loop, between iterations: `iteration` is the one before */
    bool is_apart;     /* a program's own, likewise. After mt_spans_number */
    bool is_past; /* after the loop of which iterations are turns; `iteration` is its last one */
    uint8_t serving, turn;   /* as in mt_when */
    uint8_t makes_graph;     /* likewise, at its last event */
    uint64_t time_ns, event; /* the first event's */
    uint64_t before;         /* the device's last event before it; 0: none */
    uint64_t least, most;
    uint64_t left; /* the total after the last event of its own, not of what came after it */
    uint64_t most_event, most_time_ns, most_reserved; /* at the highest total */
};

/* How the lowest totals of iterations change. */
struct mt_rise {
    uint64_t first, last;
    uint32_t rises, steps;
};

/* What is left of the oldest iterations once their spans are folded. */
struct mt_spans_past {
    uint32_t iterations;
    bool has_phase[MT_PHASE_COUNT]; /* without evaluations, which belong to no iteration */
    bool trains, serves;
    uint64_t most[MT_PHASE_COUNT];
    struct mt_rise rise;
};

/* What the iterations are. */
enum mt_counted {
    MT_COUNTED_NOT, /* there are none */
    MT_COUNTED_FORWARDS,
    MT_COUNTED_BACKWARDS,
    MT_COUNTED_STEPS,    /* of an optimizer */
    MT_COUNTED_REQUESTS, /* a server's steps for them */
    MT_COUNTED_TURNS,    /* of the program's loop (analyzer/loops/turns.h) */
    MT_COUNTED_RANGES,   /* that the program names so (analyzer/loops/named.h) */
};

extern const char *const mt_counted_names[]; /* JSON's */

struct mt_turns;

struct mt_spans {
    struct mt_span *span;
    size_t n, capacity;
    uint32_t key;      /* of the last one: its run and part, added up */
    size_t n_cut;      /* spans that go on with the run of the one before: parts, */
    bool has_too_many; /* of which there would be more than MT_SPANS_CUT_MOST */
    struct mt_span
        *part; /* after mt_spans_merge: the list before it, of n_parts; NULL: it had none */
    size_t n_parts;
    bool is_folded; /* by mt_spans_fold */
    size_t fold_at; /* so many spans; 0: not known yet */
    struct mt_spans_past past;
    uint64_t last;       /* the last event */
    uint32_t iterations; /* after mt_spans_number */
    bool only_evaluates; /* likewise: nothing is trained, so evaluation has the iterations */
    bool serves;         /* likewise: iterations are a server's steps */
    uint8_t counted;     /* likewise: enum mt_counted */
    const struct mt_turns *turns; /* MT_COUNTED_TURNS and _RANGES: these; else NULL */
    const struct mt_turns *loop;  /* the same, or the loop that others are in; NULL: unknown */
};

/* Return whether a span is an evaluation, a framework's or the program's own. */
static inline bool mt_span_evaluates(const struct mt_span *span)
{
    return span->is_evaluation || span->is_apart;
}

/* Return whether a span is an evaluation, which belongs to no iteration. */
static inline bool mt_span_is_beside(const struct mt_spans *spans, const struct mt_span *span)
{
    return span->is_apart || (span->is_evaluation && !spans->only_evaluates);
}

/* Clear a list; one of zeros is empty. Whether it is folded remains. */
void mt_spans_clear(struct mt_spans *spans);

/* Set for empty lists whether old spans are folded: for those that never end. */
static inline void mt_spans_fold(struct mt_spans *spans, size_t n, bool are_folded)
{
    for (size_t i = 0; i < n; i++)
        spans[i].is_folded = are_folded;
}

#define MT_SPANS_CUT_MOST (1u << 17) /* some 18 MiB */

/* Begin the span of a new run, or of another part of the last one. 0 or -ENOMEM. */
int mt_spans_add(struct mt_spans *spans, const struct mt_when *now, uint32_t part, uint64_t event,
                 uint64_t time_ns, uint64_t allocated, uint64_t reserved);

/* Note the totals after an event. part: a number that never falls; where it rises, a run is cut. 0
 * or -ENOMEM. */
static inline int mt_spans_note(struct mt_spans *spans, const struct mt_when *now, uint32_t part,
                                uint64_t event, uint64_t time_ns, uint64_t allocated,
                                uint64_t reserved)
{
    struct mt_span *last = spans->n ? &spans->span[spans->n - 1] : NULL;
    if (!last || spans->key != now->run + part)
        return mt_spans_add(spans, now, part, event, time_ns, allocated, reserved);
    spans->last = event;
    last->makes_graph = now->makes_graph;
    if (now->serving == last->serving)
        last->left = allocated;
    if (allocated < last->least)
        last->least = allocated;
    if (allocated > last->most) {
        last->most = allocated;
        last->most_event = event;
        last->most_time_ns = time_ns;
        last->most_reserved = reserved;
    }
    return 0;
}

/* Note that memory ran out, after mt_spans_note. */
static inline void mt_spans_fail(struct mt_spans *spans, const struct mt_when *now)
{
    if (spans->n)
        spans->span[spans->n - 1].failed = now->called + 1;
}

/* Put the parts of each run together, before the iterations are numbered. 0 or -ENOMEM. */
int mt_spans_merge(struct mt_spans *spans);

/* Free the parts, unless there is an evaluation, whose turns are cut by them. */
void mt_spans_free_parts(struct mt_spans *spans);

/* Let a span go on with the totals of the next one. */
void mt_span_join(struct mt_span *span, const struct mt_span *next);

/* Number the iterations. One ends with the optimizer step (or several in a row); without steps when
 * forward follows backward; without backward each forward is one, unless the program was
 * interrupted in the first one that trains. Forwards after the last backward are a validation, not
 * an iteration, unless the program was interrupted there. Another evaluation
 * is not an iteration either, nor what a program that calls modules does before the
 * first one (Megatron warms compiled functions up), if it makes no step there: that is start-up. Of
 * a server that trains nothing, each step for requests is one. */
void mt_spans_number(struct mt_spans *spans, bool is_broken_off);

/* Mark the forwards that are no part of an iteration: of a program that evaluates in its own loop.
 * A part of mt_spans_number. */
void mt_spans_part_forwards(struct mt_spans *spans, bool has_backward, bool is_broken_off);

/* Return whether the last forward is the first one that makes a graph for a backward, of which none
 * has come yet. Mark earlier forwards that one line called again and again: an evaluation before
 * the training. What was called once may be part of the iteration, as a frozen encoder is. */
bool mt_spans_begin_training(struct mt_spans *spans);

/* Calls of a model since the last backward, or those that the one at work is of. */
struct mt_pending {
    uint32_t caller;     /* the stack that calls it; 0: unknown */
    uint32_t calls;      /* by it */
    uint64_t begin, end; /* events: from the first call up to the backward */
};

/* Find those at an event. */
void mt_spans_pending(const struct mt_spans *spans, uint64_t event, struct mt_pending *pending);

/* Return the most calls of forward that a backward has followed in one go; 0: none has. */
uint32_t mt_spans_calls_before_backward(const struct mt_spans *spans);

/* Return whether turns of the program's loop may be the iterations: it does not train or serve, nor
 * does a framework evaluate. After mt_spans_number. */
bool mt_spans_may_turn(const struct mt_spans *spans);

/* Return the span of a run and an event in it, or the last one before; NULL: none. */
const struct mt_span *mt_spans_at(const struct mt_spans *spans, uint32_t run, uint64_t event);

/* Return the last span that begins at an event or before it; NULL: none. */
const struct mt_span *mt_spans_until(const struct mt_spans *spans, uint64_t event);

/* Return the highest span in another phase than this one (enum mt_phase, -1: any). NULL: none. */
const struct mt_span *mt_spans_highest(const struct mt_spans *spans, int but_phase);

/* Return the highest span of an iteration. NULL: no such iteration. */
const struct mt_span *mt_spans_of_iteration(const struct mt_spans *spans, uint64_t iteration);

/* Return the first span of an iteration. NULL: no such iteration. */
const struct mt_span *mt_spans_begin_of(const struct mt_spans *spans, uint64_t iteration);

/* Return the highest total in a phase, also of spans that were folded. 0: it has none. */
uint64_t mt_spans_most(const struct mt_spans *spans, enum mt_phase phase);

/* With fewer iterations growth is unknown, except that three may show it. */
#define MT_GROWTH_ITERATIONS 5u
#define MT_GROWTH_FEW 3u

/* Return how many more bytes remain from one iteration to the next, if this goes on to the end;
 * else 0. Needs MT_GROWTH_ITERATIONS iterations; with only a few it must be about the same each
 * time. It may happen in every fourth iteration only, as long as it goes on. What comes back again
 * and again is not growth. */
uint64_t mt_spans_growth(const struct mt_spans *spans);

/* Return the growth of a loop by the lowest totals of its turns, from the first on, as above, which
 * are changed. The last turn does not count: it may be cut short. */
uint64_t mt_floors_growth(uint64_t *least, size_t n);

/* Return whether growth is worth a word: 1 MiB and 0.1 % of the peak in each iteration, or, from
 * however little, a quarter of the peak and 256 MiB. */
bool mt_growth_counts(uint64_t per_iteration, uint64_t iterations, uint64_t peak);

/* The free part of the reserved memory at the highest moment of an iteration: of the second one
 * (the first makes the pools) and of the last. first 0: there are fewer. */
struct mt_free_trend {
    uint32_t first, last;
    double first_part, last_part;
};
struct mt_free_trend mt_spans_free_trend(const struct mt_spans *spans);

#endif
