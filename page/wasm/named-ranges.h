/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases that a program names (NVTX, memtap.h), each time that one was open.
 */
#ifndef MT_PAGE_NAMED_RANGES_H
#define MT_PAGE_NAMED_RANGES_H

#include "analyzer/replay/replay.h"

#include <stdbool.h>

#define MT_NAMED_RANGES_MAX 1000000u /* further ones are left out */
#define MT_NAMED_RANGES_OPEN 4096u   /* at once */

struct mt_named_range {
    uint64_t from_ns, to_ns;
    uint64_t from_event, to_event; /* numbers of events */
    uint64_t number;               /* of one that was started: what its end names; else 0 */
    uint32_t name, domain, thread; /* ids */
    uint32_t depth;                /* ranges of its thread that it is in */
    bool is_pushed;                /* it nests */
};

struct mt_named_ranges {
    struct mt_named_range *range; /* in the order in which they began */
    size_t n, capacity;
    size_t *open; /* places of those without an end yet, the oldest first */
    size_t n_open, open_capacity;
};

/* 0 or -ENOMEM. */
int mt_named_ranges_see(struct mt_named_ranges *ranges, const struct mt_replay *replay,
                        const struct mt_event *event);

/* The trace is at its end: so is all that is open. */
void mt_named_ranges_end(struct mt_named_ranges *ranges, const struct mt_replay *replay);
void mt_named_ranges_clear(struct mt_named_ranges *ranges);

#endif
