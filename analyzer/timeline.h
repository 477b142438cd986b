/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was allocated over time, by category, at a fixed number of points. A block's category is
 * known when it ends; then it is added where it began and taken away where it ended. When time runs
 * over the last point, every second one is left out.
 */
#ifndef MT_TIMELINE_H
#define MT_TIMELINE_H

#include "categories.h"

#include <stddef.h>
#include <stdint.h>

#define MT_TIMELINE_POINTS 2048u

struct mt_timeline {
    uint64_t (*change)[MT_CATEGORY_COUNT]; /* by point, in bytes, modulo 2^64; NULL: nothing yet */
    uint64_t begin_ns, end_ns;             /* of the first point, and of the last one */
    unsigned shift;                        /* point i is at begin_ns + (i << shift) */
};

/* A timeline of zeros is empty. */
void mt_timeline_clear(struct mt_timeline *timeline);

int mt_timeline_enlarge(struct mt_timeline *timeline, uint64_t time_ns);

/* Time goes on to time_ns. 0 or -ENOMEM. */
static inline int mt_timeline_reach(struct mt_timeline *timeline, uint64_t time_ns)
{
    return timeline->change && time_ns < timeline->end_ns ? 0
                                                          : mt_timeline_enlarge(timeline, time_ns);
}

/* The point that a time falls to, which may be none of them. */
static inline size_t mt_timeline_point(const struct mt_timeline *timeline, uint64_t time_ns)
{
    return time_ns <= timeline->begin_ns ? 0 : (time_ns - timeline->begin_ns) >> timeline->shift;
}

/* Whether a block that lived from one time to the other is seen at any point; times that were
 * reached. */
static inline int mt_timeline_sees(const struct mt_timeline *timeline, uint64_t from_ns,
                                   uint64_t to_ns)
{
    return timeline->change &&
           mt_timeline_point(timeline, from_ns) != mt_timeline_point(timeline, to_ns);
}

/* Adds a block; to_ns UINT64_MAX: it is live at the end. */
void mt_timeline_add(struct mt_timeline *timeline, enum mt_category category, uint64_t bytes,
                     uint64_t from_ns, uint64_t to_ns);

/* Bytes by category at each of n columns from the first time to the last: the highest total of the
 * points that the column has. Fewer than n where time is short: how many. */
size_t mt_timeline_columns(const struct mt_timeline *timeline, uint64_t last_ns, size_t n,
                           uint64_t (*columns)[MT_CATEGORY_COUNT]);

/* Writes it as text that mt_timeline_parse reads, at most 60 KiB: of each group of points the
 * highest. A text that is none leaves the timeline as it was. */
void mt_timeline_print(const struct mt_timeline *timeline, uint64_t last_ns, char *out,
                       size_t size);
int mt_timeline_parse(struct mt_timeline *timeline, const char *text);

#endif
