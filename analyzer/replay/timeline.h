/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocated memory by category, and reserved memory, at a fixed number of points. Points are
 * equidistant in events rather than time, since start-up may take long and most happens in
 * training. A block's category is known at its end; it is then added at its begin and subtracted at
 * its end. This yields the state at a point's end; the difference to its highest moment is stored
 * separately. When events exceed the last point, pairs of points are merged. The begins of
 * iterations are known at the end.
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

/* A moment: bytes, and the number of begun iterations. */
struct mt_timeline_at {
    uint64_t category[MT_CATEGORY_ROOM];
    uint64_t reserved, iterations;
};

/* The highest moment from a point up to the next one. */
struct mt_timeline_high {
    uint64_t event, above;      /* after it; above: the allocated bytes then, plus 1 */
    uint64_t reserved;          /* the most after a change in it */
    struct mt_timeline_at more; /* than at the point's end, modulo 2^64 */
    bool differs;               /* more is not zeros */
};

struct mt_timeline {
    struct mt_timeline_at *change; /* by point, modulo 2^64; NULL: nothing yet */
    struct mt_timeline_high *high; /* by point */
    uint64_t begin, next;          /* numbers of events: the first point's, and the one after the
                                    * last reached point's */
    size_t reached;                /* the last reached point */
    /* Blocks that lived only within this point and ended after its highest moment. They are added
     * once no higher moment can follow; usually one does. */
    struct mt_block_copy *waiting;
    size_t n_waiting;
    uint64_t reserved; /* now */
    unsigned shift;    /* point i is at begin + (i << shift) */
    size_t points;     /* after mt_timeline_finish */
};

/* Create a timeline and allocate its points. A zeroed timeline is empty. Return 0 or -ENOMEM. */
int mt_timeline_make(struct mt_timeline *timeline);
void mt_timeline_clear(struct mt_timeline *timeline);

void mt_timeline_forget_high(struct mt_timeline_high *high);

/* Advance to an event. bytes: allocated before it. No block may be waiting. Return 0 or -ENOMEM. */
int mt_timeline_go_on(struct mt_timeline *timeline, uint64_t event, uint64_t bytes);

/* Return whether an event is after the last reached point. */
static inline bool mt_timeline_is_beyond(const struct mt_timeline *timeline, uint64_t event)
{
    return event >= timeline->next;
}

/* Note the allocated bytes after an event that has been reached. */
static inline void mt_timeline_note(struct mt_timeline *timeline, uint64_t event, uint64_t bytes)
{
    struct mt_timeline_high *high = timeline->high + timeline->reached;
    if (bytes < high->above)
        return;
    high->above = bytes + 1;
    high->event = event;
    timeline->n_waiting = 0;
    if (high->differs)
        mt_timeline_forget_high(high); /* blocks that end from now on show it */
}

/* Return the point of an event, which may be beyond the last. */
static inline size_t mt_timeline_point(const struct mt_timeline *timeline, uint64_t event)
{
    return event <= timeline->begin ? 0 : (event - timeline->begin) >> timeline->shift;
}

/* Return whether a block that lived from `from` to the last reached event is visible at any point.
 */
static inline bool mt_timeline_shows(const struct mt_timeline *timeline, uint64_t from)
{
    return timeline->change && from <= timeline->high[timeline->reached].event;
}

/* Return whether it lived only within the last reached point, so that it may wait if there is room.
 */
static inline bool mt_timeline_may_wait(const struct mt_timeline *timeline, uint64_t from)
{
    return timeline->n_waiting < MT_TIMELINE_WAITING &&
           mt_timeline_point(timeline, from) == timeline->reached;
}

static inline void mt_timeline_wait(struct mt_timeline *timeline, const struct mt_block *block)
{
    mt_block_copy(&timeline->waiting[timeline->n_waiting++], block);
}

/* Add a block; to: an event of the last reached point, or UINT64_MAX: it is live at the end. */
void mt_timeline_add(struct mt_timeline *timeline, enum mt_category category, uint64_t bytes,
                     uint64_t from, uint64_t to);

/* Change the reserved memory by `change`, modulo 2^64, at a reached event. Call before
 * mt_timeline_note. */
void mt_timeline_reserve(struct mt_timeline *timeline, uint64_t change, uint64_t event);

/* Note the event that begins an iteration; note the last event of all. */
void mt_timeline_iteration(struct mt_timeline *timeline, uint64_t event);
void mt_timeline_finish(struct mt_timeline *timeline, uint64_t event);

/* Return the point where the first iteration begins; 0: no iteration, or nothing before it. */
size_t mt_timeline_training(const struct mt_timeline *timeline);

/* Fill n columns from point `from` up to point `to`: the highest moment of a column's points, with
 * the most that is reserved in them, and the iterations up to its end; if there are fewer points, a
 * point has several columns. Return n, or 0 if there is no point. */
size_t mt_timeline_columns(const struct mt_timeline *timeline, size_t from, size_t to, size_t n,
                           struct mt_timeline_at *columns);

/* Return the allocated bytes of all categories. */
uint64_t mt_timeline_sum(const struct mt_timeline_at *at);

/* Add it as numbers for mt_timeline_take: the highest moment of each group of points. Invalid
 * numbers (-EINVAL) leave the timeline unchanged. */
int mt_timeline_list(const struct mt_timeline *timeline, struct mt_numbers *numbers);
int mt_timeline_take(struct mt_timeline *timeline, const struct mt_numbers *numbers);

#endif
