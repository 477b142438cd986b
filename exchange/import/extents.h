/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch's allocator has at a moment of a snapshot's events: segments and the blocks in them.
 * Events say the bytes that were requested; what a block takes follows from the free piece that it
 * was cut from.
 */
#ifndef MT_IMPORT_EXTENTS_H
#define MT_IMPORT_EXTENTS_H

#include "analyzer/support/address-map.h"
#include "analyzer/support/ordered.h"

#include <stdbool.h>

struct mt_import_extent {
    uint64_t address, size;
    uint32_t tag, lane; /* the caller's */
    uint64_t requested; /* of a block: bytes; 0: as many as it has */
    uint16_t device;
    bool is_pending; /* a block whose free was requested: its memory is not free yet */
    bool waits;      /* ... for other streams, the trace says */
    bool is_small;   /* a segment of the small pool */
    bool is_pages;   /* a segment that grows page by page */
};

/* Pieces of memory that do not overlap, by address. Of zeros: none. */
struct mt_extents {
    struct mt_import_extent *extent; /* 0 is none */
    uint32_t n, first_free;          /* free ones are linked by tag */
    size_t capacity;
    struct mt_ordered order;
    struct mt_address_map by_address;
};

void mt_extents_clear(struct mt_extents *extents);
/* 0, -EEXIST if one begins there, or -ENOMEM. */
int mt_extents_add(struct mt_extents *extents, const struct mt_import_extent *extent);
/* The one that begins there; NULL: none. It lives until the next change. */
struct mt_import_extent *mt_extents_at(const struct mt_extents *extents, uint64_t address);
/* The last one that begins at or below the address; the first that begins above it. NULL: none. */
struct mt_import_extent *mt_extents_below(const struct mt_extents *extents, uint64_t address);
void mt_extents_remove(struct mt_extents *extents, uint64_t address);

/* The bytes that a block takes that was requested with so many, and begins there. */
uint64_t mt_block_bytes(const struct mt_extents *segments, const struct mt_extents *blocks,
                        uint64_t address, uint64_t requested);

#endif
