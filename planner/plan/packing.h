/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PLAN_PACKING_H
#define MT_PLAN_PACKING_H

#include "planner/requests/gather.h"

#include <stddef.h>
#include <stdint.h>

/* Return the bytes that the recorded lives need if the whole run is known beforehand: an upper
 * bound on the best. The largest blocks, at most 16,384, are put one by one, the largest first, at
 * the lowest place that is free for their whole life; the others into the lowest gap beside these,
 * as they come. 0: out of memory. */
uint64_t mt_packing(const struct mt_asked *asked);

/* One contiguous memory from which pieces are taken, each from the lowest gap that it fits. */

struct mt_gaps { /* one of zeros is empty */
    struct mt_gap {
        uint64_t begin, end;
    } *gap; /* by address; none ends at the top */
    size_t n, capacity;
    uint64_t top; /* bytes */
};

/* Return where the piece begins. */
uint64_t mt_gaps_take(struct mt_gaps *gaps, uint64_t size);
/* Give a piece back that was taken. 0 or -ENOMEM. */
int mt_gaps_give(struct mt_gaps *gaps, uint64_t begin, uint64_t end);
void mt_gaps_clear(struct mt_gaps *gaps);

#endif
