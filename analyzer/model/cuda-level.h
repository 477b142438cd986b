/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The level below the frameworks: CUDA's live device memory; and the mappings of memory without an
 * address of its own (cuMemCreate).
 */
#ifndef MT_CUDA_LEVEL_H
#define MT_CUDA_LEVEL_H

#include "analyzer/support/address-map.h"
#include "heap.h"
#include "moment.h"
#include "physical.h"
#include "sums.h"
#include "touches.h"

#define MT_CUDA_RECENT 16u

struct mt_cuda_level {
    struct mt_heap heap;
    struct mt_heap mapped;   /* not counted again: its bytes are in heap, by handle */
    struct mt_heap imported; /* counted in its maker's process: imported.h */
    struct mt_physical physical;
    struct mt_touches touches;
    /* Frees that may have failed: a free is recorded before the call. */
    struct mt_event recent[MT_CUDA_RECENT]; /* as allocation events; kind 0: none */
    unsigned next_recent;
    uint64_t replaced; /* allocations at a live address */
    uint64_t unknown;  /* frees of unknown memory */
    /* Allocations that were freed twice; allocations that another thread freed than the one that
     * made them. */
    struct mt_sums twice, by_others;
    /* The last free at each address without memory now: its place in gone, plus 1. */
    struct mt_address_map freed;
    struct mt_gone {
        uint64_t bytes;
        uint32_t stack;
    } *gone;
    size_t n_gone, gone_capacity;
};

/* A level of zeros is empty. */
void mt_cuda_clear(struct mt_cuda_level *level);

/* Return the bytes of the first piece that an unmap covers; 0: none, or only a part. */
uint64_t mt_cuda_piece(const struct mt_cuda_level *level, const struct mt_event *unmap);

/* An event's effect on allocations. ends: called for an allocation that ends, while it is still
 * there: the one at the event's address, or the one before it; 0 or -ENOMEM. NULL: no call. */
struct mt_cuda_change {
    int (*ends)(void *data, struct mt_block *block);
    void *data;
    struct mt_block *made; /* or alive again, since its free failed; NULL: none */
};

/* Handle a CUDA event and report its effect; other kinds have none. 0 or -ENOMEM. */
int mt_cuda_event(struct mt_cuda_level *level, const struct mt_event *event,
                  struct mt_cuda_change *change);

#endif
