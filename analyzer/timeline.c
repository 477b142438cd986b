/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SHIFT 10u /* points about a microsecond apart */

void mt_timeline_clear(struct mt_timeline *timeline)
{
    free(timeline->change);
    memset(timeline, 0, sizeof *timeline);
}

/* Point 2i and 2i + 1 become point i. */
static void halve(struct mt_timeline *timeline)
{
    for (size_t i = 0; i < MT_TIMELINE_POINTS; i++)
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++) {
            uint64_t change = timeline->change[i][c];
            timeline->change[i][c] = 0;
            timeline->change[i / 2][c] += change;
        }
    timeline->shift++;
}

int mt_timeline_enlarge(struct mt_timeline *timeline, uint64_t time_ns)
{
    if (!timeline->change) {
        timeline->change = calloc(MT_TIMELINE_POINTS, sizeof *timeline->change);
        if (!timeline->change)
            return -ENOMEM;
        timeline->begin_ns = time_ns;
        timeline->shift = FIRST_SHIFT;
    }
    while (mt_timeline_point(timeline, time_ns) + 1 >= MT_TIMELINE_POINTS)
        halve(timeline);
    timeline->end_ns = UINT64_MAX;
    if (MT_TIMELINE_POINTS - 1 < (UINT64_MAX - timeline->begin_ns) >> timeline->shift)
        timeline->end_ns =
            timeline->begin_ns + ((uint64_t)(MT_TIMELINE_POINTS - 1) << timeline->shift);
    return 0;
}

void mt_timeline_add(struct mt_timeline *timeline, enum mt_category category, uint64_t bytes,
                     uint64_t from_ns, uint64_t to_ns)
{
    size_t from = mt_timeline_point(timeline, from_ns);
    size_t to = to_ns == UINT64_MAX ? MT_TIMELINE_POINTS : mt_timeline_point(timeline, to_ns);
    if (from < MT_TIMELINE_POINTS)
        timeline->change[from][category] += bytes;
    if (to < MT_TIMELINE_POINTS)
        timeline->change[to][category] -= bytes;
}

static uint64_t sum(const uint64_t bytes[MT_CATEGORY_COUNT])
{
    uint64_t total = 0;
    for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
        total += bytes[c];
    return total;
}

size_t mt_timeline_columns(const struct mt_timeline *timeline, uint64_t last_ns, size_t n,
                           uint64_t (*columns)[MT_CATEGORY_COUNT])
{
    uint64_t now[MT_CATEGORY_COUNT] = {0};
    if (!timeline->change)
        return 0;
    size_t points = mt_timeline_point(timeline, last_ns) + 1;
    points = points < MT_TIMELINE_POINTS ? points : MT_TIMELINE_POINTS;
    n = n < points ? n : points;
    memset(columns, 0, n * sizeof *columns);
    for (size_t i = 0; i < points; i++) {
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
            now[c] += timeline->change[i][c];
        if (sum(now) > sum(columns[i * n / points]))
            memcpy(columns[i * n / points], now, sizeof now);
    }
    return n;
}
