/* SPDX-License-Identifier: Apache-2.0 */
#include "live-ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPEN 65536u /* for a program that never closes them */

static int open_range(struct mt_live_ranges *ranges, const struct mt_event *event)
{
    if (ranges->n == MOST_OPEN)
        return 0;
    if (ranges->n == ranges->capacity) {
        size_t capacity = 2 * ranges->n + 16;
        struct mt_event *open = realloc(ranges->open, capacity * sizeof *open);
        if (!open)
            return -ENOMEM;
        ranges->open = open;
        ranges->capacity = capacity;
    }
    ranges->open[ranges->n++] = *event;
    return 0;
}

static bool ends(const struct mt_event *begin, const struct mt_event *event)
{
    if (event->kind == MT_RANGE_END)
        return begin->kind == MT_RANGE_START && begin->RANGE_START.range == event->RANGE_END.range;
    return begin->kind == MT_RANGE_PUSH && begin->thread == event->thread &&
           begin->RANGE_PUSH.domain == event->RANGE_POP.domain;
}

static void close_range(struct mt_live_ranges *ranges, const struct mt_event *event)
{
    for (size_t i = ranges->n; i-- > 0;)
        if (ends(&ranges->open[i], event)) {
            ranges->n--;
            memmove(&ranges->open[i], &ranges->open[i + 1], (ranges->n - i) * sizeof *ranges->open);
            return;
        }
}

int mt_live_ranges_event(struct mt_live_ranges *ranges, const struct mt_event *event)
{
    switch (event->kind) {
    case MT_RANGE_PUSH:
    case MT_RANGE_START:
        return open_range(ranges, event);
    case MT_RANGE_POP:
    case MT_RANGE_END:
        close_range(ranges, event);
        return 0;
    }
    return 0;
}

int mt_live_ranges_each(const struct mt_live_ranges *ranges,
                        int (*each)(const struct mt_event *event))
{
    int rc = 0;
    for (size_t i = 0; i < ranges->n && !rc; i++)
        rc = each(&ranges->open[i]);
    return rc;
}

void mt_live_ranges_clear(struct mt_live_ranges *ranges)
{
    free(ranges->open);
    memset(ranges, 0, sizeof *ranges);
}
