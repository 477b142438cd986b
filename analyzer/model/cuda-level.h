/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The level below the frameworks: CUDA's live device memory, and mappings of memory without an
 * address (cuMemCreate).
 */
#ifndef MT_CUDA_LEVEL_H
#define MT_CUDA_LEVEL_H

#include "analyzer/support/address-map.h"
#include "heap.h"
#include "moment.h"
#include "sums.h"

#include <stdbool.h>

/*
 * Times when copies and memsets touched CUDA's allocations, by their records' numbers in the heap.
 */

struct mt_touch {
    uint64_t first_ns, last_ns;
    bool is_seen; /* 0: never touched, no times */
};

struct mt_touches {
    struct mt_touch *touch;
    size_t n; /* capacity, zeroed at first */
};

/* Return the touches of a record. */
struct mt_touch mt_touches_of(const struct mt_touches *touches, uint32_t index);

/*
 * Memory without an address (cuMemCreate). It lives until it is unmapped everywhere and its handles
 * are released; many programs release them right after mapping. Indexed by the records' numbers in
 * the heaps of handles and mapped pieces.
 */

struct mt_physical_use {
    uint32_t maps;
    uint32_t handles; /* references: a handle may be retained or imported more than once */
};

struct mt_physical {
    struct mt_physical_use *use; /* by handle record */
    uint64_t *handle;            /* by piece record */
    size_t n_uses, n_handles;    /* room */
};

/* Return the handle of a piece. */
uint64_t mt_physical_handle(const struct mt_physical *physical, uint32_t piece);

#define MT_CUDA_RECENT 16u

struct mt_cuda_level {
    struct mt_heap heap;
    struct mt_heap mapped;   /* not counted again: its bytes are in heap, by handle */
    struct mt_heap imported; /* counted in the allocating process */
    struct mt_physical physical;
    struct mt_touches touches;
    /* Frees that may have failed: a free is recorded before the call. */
    struct mt_event recent[MT_CUDA_RECENT]; /* as allocation events; kind 0: none */
    unsigned next_recent;
    uint64_t replaced; /* allocations at a live address */
    uint64_t unknown;  /* frees of unknown memory */
    /* Allocations that were freed twice; allocations that were freed by a thread that did not
     * allocate them. */
    struct mt_sums twice, by_others;
    /* The last free at each address without memory now: index in gone + 1. */
    struct mt_address_map freed;
    struct mt_gone {
        uint64_t bytes;
        uint32_t stack;
    } *gone;
    size_t n_gone, gone_capacity;
};

/* Clear a level. A zeroed level is empty. */
void mt_cuda_clear(struct mt_cuda_level *level);

/* Return the bytes of the first piece that an unmap covers; 0: none, or only a part. */
uint64_t mt_cuda_piece(const struct mt_cuda_level *level, const struct mt_event *unmap);

/* An event's effect on allocations. ends: called before an allocation ends, the one at the event's
 * address or the one before it; returns 0 or -ENOMEM. May be NULL. */
struct mt_cuda_change {
    int (*ends)(void *data, struct mt_block *block);
    void *data;
    struct mt_block *made; /* or live again, since its free failed; NULL: none */
};

/* Handle a CUDA event and report its effect; other kinds have none. 0 or -ENOMEM. */
int mt_cuda_event(struct mt_cuda_level *level, const struct mt_event *event,
                  struct mt_cuda_change *change);

/*
 * Memory of other processes (cudaIpcOpenMemHandle, imported handles) or of other APIs (external
 * memory) that is mapped in this process. It is counted in the process that allocated it. The size
 * of other processes' memory is unknown.
 */

struct mt_imported {
    uint64_t bytes, blocks, unsized; /* unsized: blocks whose size is known only to their owner */
};

/* Return the imported memory at the slot's remembered moment. */
struct mt_imported mt_imported_find(const struct mt_heap *heap, unsigned slot);

#endif
