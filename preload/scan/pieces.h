/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces of memory that the program reaches only by pointers: what malloc handed out, and whole
 * mappings of which no more is known. In the child process of a search: one thread.
 */
#ifndef MT_SCAN_PIECES_H
#define MT_SCAN_PIECES_H

#include "regions.h"

struct mt_piece {
    uint64_t begin, end;
    bool is_malloced;
};

/* What a search notes of each piece. */
enum mt_piece_mark {
    MT_PIECE_IS_REACHED,
    MT_PIECE_IS_CUDAS, /* memory of CUDA's libraries or memtap leads to it */
    MT_PIECE_IS_WANTED,
    MT_PIECE_MARKS
};

struct mt_pieces {
    const struct mt_regions *regions;
    uint64_t low, span; /* of the addresses that may be in a piece */
    uint64_t *first;    /* of each region: the number of its first bit */
    uint64_t *unknown;  /* where malloc's headers end */
    uint64_t *starts;   /* bits: 16 bytes where a piece begins */
    uint64_t *dense;    /* bits: which words of those are not 0 */
    uint64_t *mark[MT_PIECE_MARKS];
    uint32_t last; /* the region that was found last */
};

/* Find the pieces. Return NULL if there is no memory. regions stay the caller's. */
struct mt_pieces *mt_pieces_create(const struct mt_regions *regions);

/* Get the piece that an address is in. Return false if there is none: the memory is free, say. */
bool mt_piece_find(struct mt_pieces *pieces, uint64_t address, struct mt_piece *piece);

/* Mark a piece. Return whether it was not marked before. */
bool mt_piece_mark(struct mt_pieces *pieces, const struct mt_piece *piece, enum mt_piece_mark mark);
bool mt_piece_has(struct mt_pieces *pieces, const struct mt_piece *piece, enum mt_piece_mark mark);

/* Return whether a region consists of pieces. */
static inline bool mt_region_has_pieces(const struct mt_region *region)
{
    return region->sort == MT_REGION_CHUNKS || region->sort == MT_REGION_OTHER;
}

#endif
