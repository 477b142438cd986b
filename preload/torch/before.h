/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's allocator had before the recording began: blocks that it had handed out, and its
 * segments. */
#ifndef MT_PRELOAD_BEFORE_H
#define MT_PRELOAD_BEFORE_H

#include "blocks.h"
#include "preload/record/recorder.h"

/* Record them as allocations (FORMAT.md), at the device's first alloc from a pool that all share,
 * whose block is at `address`, whose totals are these (allocated: before it), and whose request has
 * been recorded. What was allocated since the recording began may be among them: by a private pool,
 * or for this alloc. They are read from the allocator's own set of blocks, which follows `pool`,
 * and its pools' sets of free ones, by reads that cannot crash. If their sizes do not add up to
 * what is allocated, nothing is recorded; if not to what is reserved, no segments are. Under the
 * allocator's lock. */
void mt_before_record(struct mt_thread *self, int device, uint64_t address, uint64_t allocated,
                      uint64_t reserved, uint64_t pool) __attribute__((cold));

/* The same at a free with these arguments that comes before any alloc, of a block from a pool that
 * all share: record what was allocated then, and the block that is freed. Return whether that was
 * possible. */
bool mt_before_record_at_free(struct mt_thread *self, int device,
                              const uint64_t free[static MT_EVENT_ARGS], struct mt_caller caller)
    __attribute__((cold));

#endif
