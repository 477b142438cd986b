/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which words in the process's memory have an address in some blocks, and how the program reaches
 * these words: all memory is scanned once for such words, and then from the program's variables and
 * stacks along pointers until each word is reached. Conservative: a number may look like an
 * address. One thread.
 */
#ifndef MT_SCAN_POINTERS_H
#define MT_SCAN_POINTERS_H

#include "pieces.h"
#include "targets.h"

#define MT_POINTERS_OF_BLOCK 4u /* that are reported */

/* A word with an address in a block, and how the program reaches it. */
struct mt_pointer_way {
    uint64_t at;
    const struct mt_region *root; /* NULL: it does not */
    uint64_t root_at;             /* the word in that; the same as `at` if n is 0 */
    uint32_t n;                   /* pieces of memory in between, */
    struct mt_piece last;         /* of which the last one has the word */
};

enum mt_pointed_state {
    MT_POINTED_UNKNOWN, /* the time was up, or there are too many words */
    MT_POINTED_HELD,
    MT_POINTED_UNREACHED, /* only memory that no pointer leads to has its address: way->last */
    MT_POINTED_CUDAS,     /* only memory that leads to it from CUDA's libraries as well */
    MT_POINTED_UNALIGNED, /* only bytes that are not a word of their own */
    MT_POINTED_LOST,      /* no memory of the program's, but for what is free */
};

struct mt_pointers;

/* Start with blocks, with so many bytes at most for what is reached. NULL: no memory. regions and
 * blocks stay the caller's. */
struct mt_pointers *mt_pointers_create(const struct mt_regions *regions,
                                       const struct mt_pointed *blocks, uint32_t n,
                                       uint64_t most_bytes);

/* Search. It may be left by a jump, after which what was found by then can be read. */
void mt_pointers_search(struct mt_pointers *pointers);

/* Get a block's state, and the i-th best way to it, i < MT_POINTERS_OF_BLOCK: variables first, then
 * what is nearer to a root; a thread's memory only if no variable leads to it. Return false if
 * there is none; state is set if i is 0. */
bool mt_pointers_way(struct mt_pointers *pointers, uint32_t block, unsigned i,
                     enum mt_pointed_state *state, struct mt_pointer_way *way);

/* Return whether everything was searched; else, whether that was for want of room. */
bool mt_pointers_are_complete(const struct mt_pointers *pointers);
bool mt_pointers_are_full(const struct mt_pointers *pointers);

#endif
