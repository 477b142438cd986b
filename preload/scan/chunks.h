/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces that glibc's malloc handed out, by their headers, in a copy of the process's memory.
 * What free() keeps for a later malloc counts as free where that can be told. */
#ifndef MT_SCAN_CHUNKS_H
#define MT_SCAN_CHUNKS_H

#include "regions.h"

/* Return where the chunks of a heap of a further arena begin; 0: this is none. */
uint64_t mt_chunks_of_arena(uint64_t begin, uint64_t end);

/* Return the bytes of a chunk that has a mapping of its own, and begins here; 0: none does. */
uint64_t mt_chunk_mapped(uint64_t at, uint64_t end);

struct mt_malloc_chunk {
    uint64_t begin, end;      /* of what the program may use */
    bool is_used, is_unknown; /* is_unknown: no header is valid from here on */
};

/* Get the chunk at *at of a region, and move *at behind it. Return false at the end. */
bool mt_chunk_next(const struct mt_region *region, uint64_t *at, struct mt_malloc_chunk *chunk);

/* Return where a chunk ends that the program may use from an address on. */
uint64_t mt_chunk_end(uint64_t begin);

/* Find what each thread keeps of freed chunks: those are not used from then on. Return false if
 * there is no memory. */
bool mt_chunks_find_freed(const struct mt_regions *regions);

/* Return the C library's record of free chunks, among an image's variables; zeros: there is none.
 */
struct mt_memory_range mt_chunks_arena_in(const struct mt_region *region);

#endif
