/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was allocated by category, and reserved, at a fixed number of points. They lie at equal
 * numbers of events, not of ns: start-up may take long, and training is where things happen. A
 * block's category is known when it ends; then it is added where it began and taken away where it
 * ended. That is what is there at a point's end; how its highest moment differs is kept beside it.
 * When events run over the last point, every two become one. Where iterations begin is known at the
 * end.
 */
#ifndef MT_TIMELINE_H
#define MT_TIMELINE_H

#include "analyzer/model/heap.h"
#include "analyzer/support/categories.h"
#include "summaries.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef MT_TIMELINE_POINTS
#define MT_TIMELINE_POINTS 2048u
#endif
#define MT_TIMELINE_WAITING 64u

/* A moment: bytes, and how many iterations have begun. */
struct mt_timeline_at {
    uint64_t category[MT_CATEGORY_ROOM];
    uint64_t reserved, iterations;
};

/* The highest moment from a point on up to the next one. */
struct mt_timeline_high {
    uint64_t event, above;      /* after it; more than the bytes that were allocated then, by 1 */
    struct mt_timeline_at more; /* than there is at the point's end, modulo 2^64 */
    int differs;                /* more is not zeros */
};

struct mt_timeline {
    struct mt_timeline_at *change; /* by point, modulo 2^64; NULL: nothing yet */
    struct mt_timeline_high *high; /* by point */
    uint64_t begin, next;          /* numbers of events: the first point's, and that of the one
                                    * after the last that was reached */
    size_t reached;                /* the latter */
    /* Blocks of that point only, which ended after its highest moment. They are added when it is
     * certain that there is none that is higher, which most often there is. */
    struct mt_block_copy *waiting;
    size_t n_waiting;
    unsigned shift; /* point i is at begin + (i << shift) */
    size_t points;  /* after mt_timeline_finish */
};

/* A timeline of zeros is empty. mt_timeline_make gives it points without anything. 0 or -ENOMEM. */
int mt_timeline_make(struct mt_timeline *timeline);
void mt_timeline_clear(struct mt_timeline *timeline);

void mt_timeline_forget_high(struct mt_timeline_high *high);

/* There is an event of that number, before which so much was allocated. None may be waiting. 0 or
 * -ENOMEM. */
int mt_timeline_go_on(struct mt_timeline *timeline, uint64_t event, uint64_t bytes);

/* Whether an event lies after the last point that was reached. */
static inline bool mt_timeline_is_beyond(const struct mt_timeline *timeline, uint64_t event)
{
    return event >= timeline->next;
}

/* After an event that was reached, so much is allocated. */
static inline void mt_timeline_see(struct mt_timeline *timeline, uint64_t event, uint64_t bytes)
{
    struct mt_timeline_high *high = timeline->high + timeline->reached;
    if (bytes < high->above)
        return;
    high->above = bytes + 1;
    high->event = event;
    timeline->n_waiting = 0;
    if (high->differs)
        mt_timeline_forget_high(high); /* what ends from now on will tell */
}

/* The point that an event falls to, which may be none of them. */
static inline size_t mt_timeline_point(const struct mt_timeline *timeline, uint64_t event)
{
    return event <= timeline->begin ? 0 : (event - timeline->begin) >> timeline->shift;
}

/* Whether a block that lived from one event to the last that was reached is seen at any point. */
static inline int mt_timeline_sees(const struct mt_timeline *timeline, uint64_t from)
{
    return timeline->change && from <= timeline->high[timeline->reached].event;
}

/* Whether it lived in that one's point only: then it may wait, if there is room. */
static inline bool mt_timeline_may_wait(const struct mt_timeline *timeline, uint64_t from)
{
    return timeline->n_waiting < MT_TIMELINE_WAITING &&
           mt_timeline_point(timeline, from) == timeline->reached;
}

static inline void mt_timeline_wait(struct mt_timeline *timeline, const struct mt_block *block)
{
    mt_block_copy(&timeline->waiting[timeline->n_waiting++], block);
}

/* Adds a block; to: an event of the last point that was reached, or UINT64_MAX: it is live at the
 * end. */
void mt_timeline_add(struct mt_timeline *timeline, enum mt_category category, uint64_t bytes,
                     uint64_t from, uint64_t to);

/* What is reserved changes by so much, modulo 2^64, with an event that was reached. Before
 * mt_timeline_see. */
void mt_timeline_reserve(struct mt_timeline *timeline, uint64_t change, uint64_t event);

/* An iteration begins with an event; or the last event of all is this. */
void mt_timeline_iteration(struct mt_timeline *timeline, uint64_t event);
void mt_timeline_finish(struct mt_timeline *timeline, uint64_t event);

/* The point at which the first iteration begins; 0: there is none, or nothing before it. */
size_t mt_timeline_training(const struct mt_timeline *timeline);

/* Each of n columns from the point `from` up to the point `to`: what the highest moment has of the
 * points that the column has, and iterations up to its end; where there are fewer points, one has
 * several columns. n, or 0 where there is no point. */
size_t mt_timeline_columns(const struct mt_timeline *timeline, size_t from, size_t to, size_t n,
                           struct mt_timeline_at *columns);

/* What is allocated, of all categories. */
uint64_t mt_timeline_sum(const struct mt_timeline_at *at);

/* Adds it as numbers that mt_timeline_take reads: of each group of points the highest. Numbers that
 * are no timeline (-EINVAL) leave it as it was. */
int mt_timeline_tell(const struct mt_timeline *timeline, struct mt_numbers *numbers);
int mt_timeline_take(struct mt_timeline *timeline, const struct mt_numbers *numbers);

#endif
