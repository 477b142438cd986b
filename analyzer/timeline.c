/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void mt_timeline_clear(struct mt_timeline *timeline)
{
    free(timeline->change);
    memset(timeline, 0, sizeof *timeline);
}

static void add(struct mt_timeline_at *to, const struct mt_timeline_at *change)
{
    for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
        to->category[c] += change->category[c];
    to->reserved += change->reserved;
    to->iterations += change->iterations;
}

/* Point 2i and 2i + 1 become point i. */
static void halve(struct mt_timeline *timeline)
{
    for (size_t i = 0; i < MT_TIMELINE_POINTS; i++) {
        struct mt_timeline_at change = timeline->change[i];
        timeline->change[i] = (struct mt_timeline_at){0};
        add(&timeline->change[i / 2], &change);
    }
    timeline->shift++;
}

int mt_timeline_enlarge(struct mt_timeline *timeline, uint64_t event)
{
    if (!timeline->change) {
        timeline->change = calloc(MT_TIMELINE_POINTS, sizeof *timeline->change);
        if (!timeline->change)
            return -ENOMEM;
        timeline->begin = event;
    }
    while (mt_timeline_point(timeline, event) + 1 >= MT_TIMELINE_POINTS)
        halve(timeline);
    timeline->end = timeline->begin + ((uint64_t)(MT_TIMELINE_POINTS - 1) << timeline->shift);
    return 0;
}

void mt_timeline_add(struct mt_timeline *timeline, enum mt_category category, uint64_t bytes,
                     uint64_t from, uint64_t to)
{
    size_t first = mt_timeline_point(timeline, from);
    size_t last = to == UINT64_MAX ? MT_TIMELINE_POINTS : mt_timeline_point(timeline, to);
    if (first < MT_TIMELINE_POINTS)
        timeline->change[first].category[category] += bytes;
    if (last < MT_TIMELINE_POINTS)
        timeline->change[last].category[category] -= bytes;
}

void mt_timeline_reserve(struct mt_timeline *timeline, uint64_t change, uint64_t event)
{
    timeline->change[mt_timeline_point(timeline, event)].reserved += change;
}

void mt_timeline_iteration(struct mt_timeline *timeline, uint64_t event)
{
    size_t point = mt_timeline_point(timeline, event);
    if (timeline->change && point < MT_TIMELINE_POINTS)
        timeline->change[point].iterations++;
}

void mt_timeline_finish(struct mt_timeline *timeline, uint64_t event)
{
    size_t points = mt_timeline_point(timeline, event) + 1;
    if (timeline->change)
        timeline->points = points < MT_TIMELINE_POINTS ? points : MT_TIMELINE_POINTS;
}

size_t mt_timeline_training(const struct mt_timeline *timeline)
{
    for (size_t i = 0; i < timeline->points; i++)
        if (timeline->change[i].iterations)
            return i;
    return 0;
}

uint64_t mt_timeline_sum(const struct mt_timeline_at *at)
{
    uint64_t total = 0;
    for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
        total += at->category[c];
    return total;
}

size_t mt_timeline_columns(const struct mt_timeline *timeline, size_t from, size_t to, size_t n,
                           struct mt_timeline_at *columns)
{
    struct mt_timeline_at now = {0};
    if (from >= to)
        return 0;
    memset(columns, 0, n * sizeof *columns);
    for (size_t i = 0; n && i < to; i++) {
        add(&now, &timeline->change[i]);
        if (i < from)
            continue;
        size_t column = (i - from) * n / (to - from), end = (i - from + 1) * n / (to - from);
        do {
            if (mt_timeline_sum(&now) >= mt_timeline_sum(&columns[column]))
                columns[column] = now;
            columns[column].iterations = now.iterations;
        } while (++column < end);
    }
    return n;
}
