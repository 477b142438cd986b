/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in the order in which the allocator looks for them: by size, then by address. Sorted
 * arrays of at most 64 entries, in an array: a search and an insertion touch a few cache lines.
 */
#ifndef MT_PLANNER_FREE_SET_H
#define MT_PLANNER_FREE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_alloc_block;
struct mt_free_chunk;

struct mt_free_key {
    uint64_t size, address;
};

struct mt_free_set {
    struct mt_free_chunk **chunk; /* none is empty */
    struct mt_free_key *last;     /* of each chunk, the key of its last entry */
    unsigned count, room;
};

struct mt_free_at {
    unsigned chunk, entry;
};

/* Free the memory; the set is empty then. A set of zeros is an empty one. */
void mt_free_set_clear(struct mt_free_set *set);
/* Return the first entry that is not below the key. */
struct mt_free_at mt_free_set_from(const struct mt_free_set *set, struct mt_free_key key);
/* Return the block at a position; NULL: the position is the end. */
struct mt_alloc_block *mt_free_set_block(const struct mt_free_set *set, struct mt_free_at at);
struct mt_free_at mt_free_set_next(const struct mt_free_set *set, struct mt_free_at at);
/* Go back by one. False: it is the first one; *at is then unchanged. */
bool mt_free_set_back(const struct mt_free_set *set, struct mt_free_at *at);
/* Put an entry in. False: no memory. Positions are invalid then, as after a removal. */
bool mt_free_set_put(struct mt_free_set *set, struct mt_free_key key, struct mt_alloc_block *block);
/* Remove an entry, which must be there. */
void mt_free_set_take(struct mt_free_set *set, struct mt_free_key key);

#endif
