/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of PyTorch's allocator at a moment of a snapshot: segments and the blocks in them.
 * Events have the requested bytes; a block's size is derived from the free piece that it was cut
 * from.
 */
#ifndef MT_IMPORT_EXTENTS_H
#define MT_IMPORT_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/support/address-map.h"
#include "analyzer/support/ordered.h"

struct mt_import_extent {
    uint64_t address, size;
    uint32_t tag, lane; /* the caller's */
    uint64_t requested; /* bytes requested for a block; 0: its whole size */
    uint16_t device;
    bool is_pending; /* a block whose free was requested but not completed */
    bool waits;      /* the trace says that it waits for other streams */
    bool is_small;   /* a segment of the small pool */
    bool is_pages;   /* a segment that grows page by page */
};

/* Non-overlapping pieces of memory, sorted by address. A zeroed struct is empty. */
struct mt_extents {
    struct mt_import_extent *extent; /* 0 is none */
    uint32_t n, first_free;          /* free ones are linked by tag */
    size_t capacity;
    struct mt_ordered order;
    struct mt_address_map by_address;
};

void mt_extents_clear(struct mt_extents *extents);
/* Add an extent. Return 0, -EEXIST if one begins there, or -ENOMEM. */
int mt_extents_add(struct mt_extents *extents, const struct mt_import_extent *extent);
/* Return the extent that begins there, or NULL. Valid until the next change. */
struct mt_import_extent *mt_extents_at(const struct mt_extents *extents, uint64_t address);
/* Remove the extent that begins there, if there is one. */
void mt_extents_remove(struct mt_extents *extents, uint64_t address);

/* Return the size of a block that begins there and for which so many bytes were requested. */
uint64_t mt_block_bytes(const struct mt_extents *segments, const struct mt_extents *blocks,
                        uint64_t address, uint64_t requested);

#endif
