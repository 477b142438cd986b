/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free blocks in the allocator's search order: by size, then by address. An array of sorted arrays
 * of at most 64 entries, so that a search or an insertion touches few cache lines.
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
    struct mt_free_key *last;     /* each chunk's last key */
    unsigned count, room;
};

struct mt_free_at {
    unsigned chunk, entry;
};

/* Free the memory and empty the set. A zeroed set is empty. */
void mt_free_set_clear(struct mt_free_set *set);
/* Return the position of the first entry that is not below the key. */
struct mt_free_at mt_free_set_from(const struct mt_free_set *set, struct mt_free_key key);
/* Return the block at a position; NULL at the end. */
struct mt_alloc_block *mt_free_set_block(const struct mt_free_set *set, struct mt_free_at at);
struct mt_free_at mt_free_set_next(const struct mt_free_set *set, struct mt_free_at at);
/* Step back. Return false at the first entry, with *at unchanged. */
bool mt_free_set_back(const struct mt_free_set *set, struct mt_free_at *at);
/* Insert an entry. Return false without memory. Insertions and removals invalidate positions. */
bool mt_free_set_put(struct mt_free_set *set, struct mt_free_key key, struct mt_alloc_block *block);
/* Remove an entry, which must exist. */
void mt_free_set_take(struct mt_free_set *set, struct mt_free_key key);

#endif
