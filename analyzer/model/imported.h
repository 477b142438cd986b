/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of other processes (cudaIpcOpenMemHandle, imported handles) or of other interfaces
 * (external memory) that this process has addresses of. It is counted in its maker's process. The
 * size of other processes' memory is unknown.
 */
#ifndef MT_IMPORTED_H
#define MT_IMPORTED_H

#include "heap.h"

struct mt_imported {
    uint64_t bytes, blocks, unsized; /* unsized: blocks whose size only their owner knows */
};

/* Handle an event in a heap of imported memory. Return 1; 0: the event is not about imported
 * memory; -ENOMEM. Any call may free it. */
int mt_imported_event(struct mt_heap *heap, const struct mt_event *event);

/* Return the imported memory at the slot's remembered moment. */
struct mt_imported mt_imported_find(const struct mt_heap *heap, unsigned slot);

#endif
