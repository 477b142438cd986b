/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks that PyTorch's allocator had handed out before the recording began. */
#ifndef MT_PRELOAD_BEFORE_H
#define MT_PRELOAD_BEFORE_H

#include "preload/record/recorder.h"

/* Record them as allocations (FORMAT.md), at the device's first alloc from a pool that all share,
 * whose block is at `address`, whose totals are these (allocated: before it), and whose request has
 * been recorded. What a private pool has handed out since the recording began may be among them.
 * They are read from the allocator's own set of blocks, which follows `pool`, by reads that cannot
 * crash. If their sizes do not add up to the total, nothing is recorded. Under the allocator's
 * lock. */
void mt_before_record(struct mt_thread *self, int device, uint64_t address, uint64_t allocated,
                      uint64_t reserved, uint64_t pool) __attribute__((cold));

#endif
