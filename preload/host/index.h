/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids by the hash of their objects. The owner keeps the objects by id and compares them:
 *
 *     struct mt_search search = mt_index_search(&index, hash);
 *     while ((id = mt_index_next(&index, &search)) && !is_it(id))
 *         ;
 *
 * One thread at a time.
 */
#ifndef MT_PRELOAD_INDEX_H
#define MT_PRELOAD_INDEX_H

#include <stdint.h>

struct mt_index {
    uint64_t *slot; /* the hash's lower half << 32 | id; 0: empty */
    uint32_t mask;  /* slots - 1 */
    uint32_t used;
};

struct mt_search {
    uint32_t hash, at;
};

static inline struct mt_search mt_index_search(const struct mt_index *index, uint64_t hash)
{
    uint32_t half = (uint32_t)(hash ^ hash >> 32);
    return (struct mt_search){half, half & index->mask};
}

/* Return the next id of that hash; 0: no more. */
static inline uint32_t mt_index_next(const struct mt_index *index, struct mt_search *search)
{
    uint64_t slot;
    while (index->slot && (slot = index->slot[search->at])) {
        search->at = (search->at + 1) & index->mask;
        if (slot >> 32 == search->hash)
            return (uint32_t)slot;
    }
    return 0;
}

/* Add an id, which is not 0. Return 0 or -ENOMEM. */
int mt_index_add(struct mt_index *index, uint64_t hash, uint32_t id);

void mt_index_reset(struct mt_index *index);

#endif
