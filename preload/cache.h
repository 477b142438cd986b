/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from what the hot path sees (addresses) to an id that was interned for it. Found without a
 * lock; added to under the caller's lock. An address that is reused for something else comes with
 * another stamp, and so is another key. A program that makes new code all day would fill any memory
 * so: a cache that forgets begins anew when it is full, and is looked into within hooks only
 * (mt_enter), so that the writer knows when nobody looks into what it was before.
 */
#ifndef MT_PRELOAD_CACHE_H
#define MT_PRELOAD_CACHE_H

#include <stdatomic.h>
#include <stdint.h>

struct mt_key {
    uint64_t a, b, stamp;
    uint32_t parent;
};

/* A key and its id, without gaps: in one cache line. */
struct mt_cache_entry {
    uint64_t a, b, stamp;
    uint32_t parent;
    _Atomic uint32_t id; /* 0: empty; set last */
};

struct mt_cache_table {
    uint32_t mask; /* entries - 1 */
    uint32_t used;
    _Alignas(sizeof(struct mt_cache_entry)) struct mt_cache_entry entry[];
};

struct mt_cache {
    struct mt_cache_table *_Atomic table;
    int forgets;
};

#define MT_CACHE_MOST (1u << 17) /* entries of one that forgets: 4 MiB */

static inline uint64_t mt_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

static inline uint64_t mt_key_hash(const struct mt_key *key)
{
    uint64_t rest = key->b ^ key->stamp ^ (uint64_t)key->parent << 32;
    return mt_mix(key->a, rest * 0xff51afd7ed558ccdu);
}

/* The id, or 0: not there. Any thread. */
static inline uint32_t mt_cache_find(struct mt_cache *cache, const struct mt_key *key)
{
    struct mt_cache_table *table = atomic_load_explicit(&cache->table, memory_order_acquire);
    if (!table)
        return 0;
    for (uint64_t at = mt_key_hash(key);; at++) {
        struct mt_cache_entry *entry = &table->entry[at & table->mask];
        uint32_t id = atomic_load_explicit(&entry->id, memory_order_acquire);
        if (!id)
            return 0;
        if (entry->a == key->a && entry->b == key->b && entry->parent == key->parent &&
            entry->stamp == key->stamp)
            return id;
    }
}

/* Adds a key that is not there, with an id that is not 0. One thread at a time. Does nothing when
 * there is no memory: the key is then found by the slow way each time. */
void mt_cache_add(struct mt_cache *cache, const struct mt_key *key, uint32_t id);

/* What was replaced so far, as a set; and gives that back to the kernel, once no thread can be
 * reading it. Writer. */
uint32_t mt_cache_retired(void);
void mt_cache_free(uint32_t places);

/* Forgets everything; no other thread may be using the cache (a forked child's). */
void mt_cache_reset(struct mt_cache *cache);

#endif
