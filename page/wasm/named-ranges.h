/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's named ranges (NVTX, memtap.h), one entry for each time a range was open.
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
    uint64_t number;               /* a started range's number, repeated by its end; else 0 */
    uint32_t name, domain, thread; /* ids */
    uint32_t depth;                /* open ranges of its thread around it */
    bool is_pushed;                /* pushed: it nests */
};

struct mt_named_ranges {
    struct mt_named_range *range; /* in order of their begins */
    size_t n, capacity;
    size_t *open; /* indexes of the open ranges, the oldest first */
    size_t n_open, open_capacity;
};

/* Apply an event. Return 0 or -ENOMEM. */
int mt_named_ranges_note(struct mt_named_ranges *ranges, const struct mt_replay *replay,
                         const struct mt_event *event);

/* End all open ranges at the trace's end. */
void mt_named_ranges_end(struct mt_named_ranges *ranges, const struct mt_replay *replay);
void mt_named_ranges_clear(struct mt_named_ranges *ranges);

#endif
