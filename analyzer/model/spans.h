/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's memory by phases: for each run of a phase (and what is done outside of the model after
 * it) the most and the least that was allocated. From these come iterations, what lies below the
 * peak, and growth. Its memory grows with iterations, not with events.
 */
#ifndef MT_SPANS_H
#define MT_SPANS_H

#include "phase.h"

#include <stdbool.h>
#include <stddef.h>

struct mt_span {
    uint32_t run;            /* mt_when.run */
    uint32_t iteration;      /* from 1; 0: start-up. After mt_spans_number */
    uint8_t phase;           /* enum mt_phase; OUTSIDE: start-up */
    uint8_t is_evaluation;   /* between iterations: `iteration` is the one before */
    uint64_t time_ns, event; /* of the first event in it */
    uint64_t before;         /* the device's last event before it; 0: none */
    uint64_t least, most;
    uint64_t most_event, most_time_ns, most_reserved; /* at the most */
};

struct mt_spans {
    struct mt_span *span;
    size_t n, capacity;
    uint64_t last;       /* event that was seen */
    uint32_t iterations; /* after mt_spans_number */
    int only_evaluates;  /* likewise: nothing is trained, so that evaluation has the iterations */
};

/* Whether a span is of an evaluation beside the training. */
static inline bool mt_span_is_beside(const struct mt_spans *spans, const struct mt_span *span)
{
    return span->is_evaluation && !spans->only_evaluates;
}

/* A list of zeros is empty. */
void mt_spans_clear(struct mt_spans *spans);

/* Begins the span of a new run. 0 or -ENOMEM. */
int mt_spans_add(struct mt_spans *spans, const struct mt_when *now, uint64_t event,
                 uint64_t time_ns, uint64_t allocated, uint64_t reserved);

/* What is allocated and reserved after an event. 0 or -ENOMEM. */
static inline int mt_spans_see(struct mt_spans *spans, const struct mt_when *now, uint64_t event,
                               uint64_t time_ns, uint64_t allocated, uint64_t reserved)
{
    struct mt_span *last = spans->n ? &spans->span[spans->n - 1] : NULL;
    if (!last || last->run != now->run)
        return mt_spans_add(spans, now, event, time_ns, allocated, reserved);
    spans->last = event;
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

/* Numbers the iterations. One ends with the optimizer's step (or several, one after the other);
 * without steps when forward follows backward; without backward each forward is one. Forwards after
 * the last backward are no iteration, but a validation, unless the program was broken off there. Nor
 * is a framework's evaluation. */
void mt_spans_number(struct mt_spans *spans, bool is_broken_off);

/* The span of a run, or of the last one before; NULL: there is none. */
const struct mt_span *mt_spans_at(const struct mt_spans *spans, uint32_t run);

/* The highest span; that of another phase than this one (enum mt_phase, -1: any). NULL: none. */
const struct mt_span *mt_spans_highest(const struct mt_spans *spans, int but_phase);

/* The highest span of an iteration. NULL: it is not there. */
const struct mt_span *mt_spans_of_iteration(const struct mt_spans *spans, uint64_t iteration);

/* The first span of an iteration. NULL: it is not there. */
const struct mt_span *mt_spans_begin_of(const struct mt_spans *spans, uint64_t iteration);

/* Of fewer iterations growth is not known. */
#define MT_GROWTH_ITERATIONS 5u

/* How much more is left over from one iteration to the next, in bytes, where that goes on to the
 * end; 0 where it does not. Of only a few iterations it has to be about the same each time. */
uint64_t mt_spans_growth(const struct mt_spans *spans);

/* What part of what is reserved is free at the highest moment of an iteration: of the second one
 * (the first makes the pools) and of the last. first 0: there are fewer. */
struct mt_free_trend {
    uint32_t first, last;
    double first_part, last_part;
};
struct mt_free_trend mt_spans_free_trend(const struct mt_spans *spans);

/* For JSON, and for people. OUTSIDE is before anything else: start-up. */
extern const struct mt_phase_name {
    const char *name, *label;
} mt_phase_names[4];

#endif
