/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was allocated by category, and reserved, at a fixed number of points. They lie at equal
 * numbers of events, not of ns: start-up may take long, and training is where things happen. A
 * block's category is known when it ends; then it is added where it began and taken away where it
 * ended. When events run over the last point, every second one is left out. Where iterations begin
 * is known at the end.
 */
#ifndef MT_TIMELINE_H
#define MT_TIMELINE_H

#include "categories.h"

#include <stddef.h>
#include <stdint.h>

#define MT_TIMELINE_POINTS 2048u

/* A moment: bytes, and how many iterations have begun. */
struct mt_timeline_at {
    uint64_t category[MT_CATEGORY_COUNT];
    uint64_t reserved, iterations;
};

struct mt_timeline {
    struct mt_timeline_at *change; /* by point, modulo 2^64; NULL: nothing yet */
    uint64_t begin, end;           /* numbers of events: the first point's and the last one's */
    unsigned shift;                /* point i is at begin + (i << shift) */
    size_t points;                 /* after mt_timeline_finish */
};

/* A timeline of zeros is empty. */
void mt_timeline_clear(struct mt_timeline *timeline);

int mt_timeline_enlarge(struct mt_timeline *timeline, uint64_t event);

/* There is an event of that number. 0 or -ENOMEM. */
static inline int mt_timeline_reach(struct mt_timeline *timeline, uint64_t event)
{
    return timeline->change && event < timeline->end ? 0 : mt_timeline_enlarge(timeline, event);
}

/* The point that an event falls to, which may be none of them. */
static inline size_t mt_timeline_point(const struct mt_timeline *timeline, uint64_t event)
{
    return event <= timeline->begin ? 0 : (event - timeline->begin) >> timeline->shift;
}

/* Whether a block that lived from one event to the other is seen at any point; they were reached.
 */
static inline int mt_timeline_sees(const struct mt_timeline *timeline, uint64_t from, uint64_t to)
{
    return timeline->change && mt_timeline_point(timeline, from) != mt_timeline_point(timeline, to);
}

/* Adds a block; to UINT64_MAX: it is live at the end. */
void mt_timeline_add(struct mt_timeline *timeline, enum mt_category category, uint64_t bytes,
                     uint64_t from, uint64_t to);

/* What is reserved changes by so much, modulo 2^64, with an event that was reached. */
void mt_timeline_reserve(struct mt_timeline *timeline, uint64_t change, uint64_t event);

/* An iteration begins with an event; or the last event of all is this. */
void mt_timeline_iteration(struct mt_timeline *timeline, uint64_t event);
void mt_timeline_finish(struct mt_timeline *timeline, uint64_t event);

/* The point at which the first iteration begins; 0: there is none, or nothing before it. */
size_t mt_timeline_training(const struct mt_timeline *timeline);

/* Each of n columns from the point `from` up to the point `to`: what the point with the highest
 * total has of those that the column has, and iterations up to its end; where there are fewer
 * points, one has several columns. n, or 0 where there is no point. */
size_t mt_timeline_columns(const struct mt_timeline *timeline, size_t from, size_t to, size_t n,
                           struct mt_timeline_at *columns);

/* What is allocated, of all categories. */
uint64_t mt_timeline_sum(const struct mt_timeline_at *at);

/* Writes it as text that mt_timeline_parse reads, at most 60 KiB: of each group of points the
 * highest. A text that is none leaves the timeline as it was. */
void mt_timeline_print(const struct mt_timeline *timeline, char *out, size_t size);
int mt_timeline_parse(struct mt_timeline *timeline, const char *text);

#endif
