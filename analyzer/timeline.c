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

static void add(struct mt_timeline_bytes *to, const struct mt_timeline_bytes *change)
{
    for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
        to->category[c] += change->category[c];
    to->reserved += change->reserved;
}

/* Point 2i and 2i + 1 become point i. */
static void halve(struct mt_timeline *timeline)
{
    for (size_t i = 0; i < MT_TIMELINE_POINTS; i++) {
        struct mt_timeline_bytes change = timeline->change[i];
        timeline->change[i] = (struct mt_timeline_bytes){0};
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

uint64_t mt_timeline_sum(const struct mt_timeline_bytes *bytes)
{
    uint64_t total = 0;
    for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
        total += bytes->category[c];
    return total;
}

size_t mt_timeline_columns(const struct mt_timeline *timeline, uint64_t from, uint64_t to, size_t n,
                           struct mt_timeline_bytes *columns)
{
    struct mt_timeline_bytes now = {0};
    if (!timeline->change || !n || to < from)
        return 0;
    size_t first = mt_timeline_point(timeline, from), last = mt_timeline_point(timeline, to);
    last = last < MT_TIMELINE_POINTS ? last : MT_TIMELINE_POINTS - 1;
    if (first > last)
        return 0;
    size_t points = last - first + 1;
    memset(columns, 0, n * sizeof *columns);
    for (size_t i = 0; i <= last; i++) {
        add(&now, &timeline->change[i]);
        if (i < first)
            continue;
        size_t column = (i - first) * n / points, end = (i - first + 1) * n / points;
        do
            if (mt_timeline_sum(&now) >= mt_timeline_sum(&columns[column]))
                columns[column] = now;
        while (++column < end);
    }
    return n;
}
