/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void mt_timeline_clear(struct mt_timeline *timeline)
{
    free(timeline->change);
    free(timeline->high);
    free(timeline->waiting);
    memset(timeline, 0, sizeof *timeline);
}

int mt_timeline_make(struct mt_timeline *timeline)
{
    timeline->change = calloc(MT_TIMELINE_POINTS, sizeof *timeline->change);
    timeline->high = calloc(MT_TIMELINE_POINTS, sizeof *timeline->high);
    timeline->waiting = calloc(MT_TIMELINE_WAITING, sizeof *timeline->waiting);
    if (timeline->change && timeline->high && timeline->waiting)
        return 0;
    mt_timeline_clear(timeline);
    return -ENOMEM;
}

static void add(struct mt_timeline_at *to, const struct mt_timeline_at *change)
{
    for (unsigned c = 0; c < mt_n_categories; c++)
        to->category[c] += change->category[c];
    to->reserved += change->reserved;
    to->iterations += change->iterations;
}

static void subtract_bytes(struct mt_timeline_at *from, const struct mt_timeline_at *change)
{
    for (unsigned c = 0; c < mt_n_categories; c++)
        from->category[c] -= change->category[c];
    from->reserved -= change->reserved;
}

void mt_timeline_forget_high(struct mt_timeline_high *high)
{
    high->more = (struct mt_timeline_at){0};
    high->differs = false;
}

/* Return the highest moment of two points, given the changes at the end of the second. */
static struct mt_timeline_high higher(const struct mt_timeline_high *first,
                                      const struct mt_timeline_high *second,
                                      const struct mt_timeline_at *change)
{
    struct mt_timeline_high high = second->above > first->above ? *second : *first;
    high.reserved = first->reserved > second->reserved ? first->reserved : second->reserved;
    if (second->above > first->above)
        return high;
    subtract_bytes(&high.more, change);
    high.differs = true;
    return high;
}

/* Merge points 2i and 2i + 1 into point i. */
static void halve(struct mt_timeline *timeline)
{
    for (size_t i = 0; i < MT_TIMELINE_POINTS / 2; i++) {
        struct mt_timeline_at change = timeline->change[2 * i];
        timeline->high[i] = higher(&timeline->high[2 * i], &timeline->high[2 * i + 1],
                                   &timeline->change[2 * i + 1]);
        add(&change, &timeline->change[2 * i + 1]);
        timeline->change[i] = change;
    }
    memset(timeline->change + MT_TIMELINE_POINTS / 2, 0,
           MT_TIMELINE_POINTS / 2 * sizeof *timeline->change);
    memset(timeline->high + MT_TIMELINE_POINTS / 2, 0,
           MT_TIMELINE_POINTS / 2 * sizeof *timeline->high);
    timeline->reached /= 2;
    timeline->shift++;
}

/* Begin a point at its first event, and any empty points before it. */
static void begin_point(struct mt_timeline *timeline, size_t point, uint64_t event, uint64_t bytes)
{
    for (size_t i = timeline->reached + 1; i < point; i++)
        timeline->high[i] = (struct mt_timeline_high){.event = event - 1, .above = bytes + 1};
    timeline->high[point].event = event;
    timeline->reached = point;
}

int mt_timeline_go_on(struct mt_timeline *timeline, uint64_t event, uint64_t bytes)
{
    if (!timeline->change) {
        if (mt_timeline_make(timeline))
            return -ENOMEM;
        timeline->begin = timeline->high->event = event;
    }
    while (mt_timeline_point(timeline, event) + 1 >= MT_TIMELINE_POINTS)
        halve(timeline);
    size_t point = mt_timeline_point(timeline, event);
    if (timeline->reached < point)
        begin_point(timeline, point, event, bytes);
    timeline->next = timeline->begin + ((uint64_t)(point + 1) << timeline->shift);
    return 0;
}

void mt_timeline_add(struct mt_timeline *timeline, enum mt_category category, uint64_t bytes,
                     uint64_t from, uint64_t to)
{
    size_t first = mt_timeline_point(timeline, from);
    size_t last = to == UINT64_MAX ? MT_TIMELINE_POINTS : mt_timeline_point(timeline, to);
    if (first != last && first < MT_TIMELINE_POINTS) {
        struct mt_timeline_high *high = &timeline->high[first];
        timeline->change[first].category[category] += bytes;
        high->more.category[category] -= from > high->event ? bytes : 0;
        high->differs = true;
    }
    if (last < MT_TIMELINE_POINTS) {
        struct mt_timeline_high *high = &timeline->high[last];
        timeline->change[last].category[category] -= first != last ? bytes : 0;
        high->more.category[category] += from <= high->event ? bytes : 0;
        high->differs = true;
    }
}

void mt_timeline_reserve(struct mt_timeline *timeline, uint64_t change, uint64_t event)
{
    size_t point = mt_timeline_point(timeline, event);
    struct mt_timeline_high *high = &timeline->high[point];
    timeline->change[point].reserved += change;
    timeline->reserved += change;
    if (high->reserved < timeline->reserved)
        high->reserved = timeline->reserved;
    high->more.reserved -= event > high->event ? change : 0;
    high->differs = true;
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
    for (unsigned c = 0; c < mt_n_categories; c++)
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
        struct mt_timeline_at high = now;
        add(&high, &timeline->high[i].more);
        uint64_t reserved =
            timeline->high[i].reserved > high.reserved ? timeline->high[i].reserved : high.reserved;
        do {
            uint64_t most =
                columns[column].reserved > reserved ? columns[column].reserved : reserved;
            if (mt_timeline_sum(&high) >= mt_timeline_sum(&columns[column]))
                columns[column] = high;
            columns[column].reserved = most;
            columns[column].iterations = now.iterations;
        } while (++column < end);
    }
    return n;
}
