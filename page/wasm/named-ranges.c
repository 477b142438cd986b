/* SPDX-License-Identifier: Apache-2.0 */
#include "named-ranges.h"
#include "analyzer/support/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t depth_of(const struct mt_named_ranges *ranges, uint32_t thread)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < ranges->n_open; i++)
        depth += ranges->range[ranges->open[i]].thread == thread;
    return depth;
}

static int begin(struct mt_named_ranges *ranges, const struct mt_replay *replay,
                 const struct mt_named_range *range)
{
    if (ranges->n >= MT_NAMED_RANGES_MAX || ranges->n_open >= MT_NAMED_RANGES_OPEN ||
        mt_range_is_of_library(replay->definitions, range->domain))
        return 0;
    if (MT_GROW(ranges->range, ranges->capacity, ranges->n) ||
        MT_GROW(ranges->open, ranges->open_capacity, ranges->n_open))
        return -ENOMEM;
    struct mt_named_range *new = &ranges->range[ranges->n];
    *new = *range;
    new->from_ns = replay->time_ns;
    new->from_event = replay->events;
    new->depth = depth_of(ranges, range->thread);
    ranges->open[ranges->n_open++] = ranges->n++;
    return 0;
}

static void end_at(struct mt_named_ranges *ranges, const struct mt_replay *replay, size_t at)
{
    struct mt_named_range *range = &ranges->range[ranges->open[at]];
    range->to_ns = replay->time_ns;
    range->to_event = replay->events;
    ranges->n_open--;
    memmove(&ranges->open[at], &ranges->open[at + 1], (ranges->n_open - at) * sizeof *ranges->open);
}

/* End the newest matching range. No match: its beginning was not recorded. */
static void end_like(struct mt_named_ranges *ranges, const struct mt_replay *replay,
                     const struct mt_named_range *like)
{
    for (size_t i = ranges->n_open; i > 0; i--) {
        const struct mt_named_range *range = &ranges->range[ranges->open[i - 1]];
        if (range->is_pushed != like->is_pushed)
            continue;
        if (like->is_pushed ? range->thread == like->thread && range->domain == like->domain
                            : range->number == like->number) {
            end_at(ranges, replay, i - 1);
            return;
        }
    }
}

int mt_named_ranges_note(struct mt_named_ranges *ranges, const struct mt_replay *replay,
                         const struct mt_event *event)
{
    struct mt_named_range range = {.thread = event->thread};
    switch (event->kind) {
    case MT_RANGE_PUSH:
        range.name = (uint32_t)event->RANGE_PUSH.name;
        range.domain = (uint32_t)event->RANGE_PUSH.domain;
        range.is_pushed = true;
        return begin(ranges, replay, &range);
    case MT_RANGE_START:
        range.name = (uint32_t)event->RANGE_START.name;
        range.domain = (uint32_t)event->RANGE_START.domain;
        range.number = event->RANGE_START.range;
        return begin(ranges, replay, &range);
    case MT_RANGE_POP:
        range.domain = (uint32_t)event->RANGE_POP.domain;
        range.is_pushed = true;
        end_like(ranges, replay, &range);
        return 0;
    case MT_RANGE_END:
        range.number = event->RANGE_END.range;
        end_like(ranges, replay, &range);
        return 0;
    default:
        return 0;
    }
}

void mt_named_ranges_end(struct mt_named_ranges *ranges, const struct mt_replay *replay)
{
    while (ranges->n_open)
        end_at(ranges, replay, ranges->n_open - 1);
}

void mt_named_ranges_clear(struct mt_named_ranges *ranges)
{
    free(ranges->range);
    free(ranges->open);
    memset(ranges, 0, sizeof *ranges);
}
