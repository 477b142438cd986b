/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of other processes (cudaIpcOpenMemHandle, imported handles) or of other interfaces
 * (external memory) that this process has addresses of. It is counted where it was made. Of other
 * processes' the size is not known.
 */
#ifndef MT_IMPORTED_H
#define MT_IMPORTED_H

#include "heap.h"

struct mt_imported {
    uint64_t bytes, blocks, unsized; /* unsized: blocks whose size only their owner knows */
};

/* Takes an event into account that is about imported memory, in a heap of it: 1; 0: it is about
 * something else; -ENOMEM. What is freed may be so by any call. */
int mt_imported_event(struct mt_heap *heap, const struct mt_event *event);

/* What was imported at the remembered moment of that slot. */
struct mt_imported mt_imported_find(const struct mt_heap *heap, unsigned slot);

#endif
