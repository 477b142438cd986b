/* SPDX-License-Identifier: Apache-2.0 */
/* One contiguous memory from which pieces are taken, each from the lowest gap that it fits. */
#ifndef MT_PLAN_GAPS_H
#define MT_PLAN_GAPS_H

#include <stddef.h>
#include <stdint.h>

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
