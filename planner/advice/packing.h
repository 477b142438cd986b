/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PLAN_PACKING_H
#define MT_PLAN_PACKING_H

#include "planner/requests/gather.h"

#include <stddef.h>
#include <stdint.h>

/* Return a packing of the recorded lifetimes in bytes, with the whole run known in advance: an
 * upper bound on the best packing. The largest blocks, at most 16,384, are placed first, in order
 * of size, each at the lowest place that is free for its whole lifetime; the others go in order of
 * time to the lowest gap. 0: out of memory. */
uint64_t mt_packing(const struct mt_requests *requests);

/* A contiguous memory that is allocated from the lowest gap that fits. */

struct mt_gaps { /* a zeroed struct is empty */
    struct mt_gap {
        uint64_t begin, end;
    } *gap; /* by address; none ends at the top */
    size_t n, capacity;
    uint64_t top; /* bytes */
};

/* Allocate a piece. Return its offset. */
uint64_t mt_gaps_take(struct mt_gaps *gaps, uint64_t size);
/* Free a piece. Return 0 or -ENOMEM. */
int mt_gaps_give(struct mt_gaps *gaps, uint64_t begin, uint64_t end);
void mt_gaps_clear(struct mt_gaps *gaps);

#endif
