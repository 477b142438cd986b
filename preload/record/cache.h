/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from what the hot path sees (addresses) to an interned id. Lookups take no lock; additions
 * need the caller's lock. An address that is reused for something else gets another stamp, and so
 * is another key. A program that generates code all day would fill any memory: a cache that forgets
 * starts over when it is full. Only hooks (mt_enter) may look up keys, so that the writer knows
 * when nobody reads the old table.
 *
 * Entries are in the order in which they were added, and each remembers which entry was found after
 * it the last time. A program that repeats itself thus finds the next entry in memory that was
 * prefetched with the last one, instead of by its hash in another cache line.
 */
#ifndef MT_PRELOAD_CACHE_H
#define MT_PRELOAD_CACHE_H

#include "trace-format/likely.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_key {
    uint64_t a, b;
    uint32_t stamp, parent;
};

/* A key and its id, without padding: two per cache line. */
struct mt_cache_entry {
    uint64_t a, b;
    uint32_t stamp, parent;
    _Atomic uint32_t id;   /* 0: empty; set last */
    _Atomic uint32_t next; /* the entry found after this one */
};

struct mt_cache_table {
    uint32_t most, used;     /* entries, from 1 on */
    uint32_t mask;           /* places - 1 */
    _Atomic uint32_t *place; /* the entry at its hash or after it; 0: none */
    _Alignas(sizeof(struct mt_cache_entry)) struct mt_cache_entry entry[];
};

struct mt_cache {
    struct mt_cache_table *_Atomic table;
    int forgets;
};

#define MT_CACHE_MOST (1u << 16) /* entries of a cache that forgets: 2.5 MiB */

static inline uint64_t mt_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

/* Hash a key. A place is the hash's lowest bits, but keys may differ only in their highest bits
 * (modules, at one line), which a product does not bring down. So mix the highest bits down twice.
 */
static inline uint64_t mt_key_hash(const struct mt_key *key)
{
    uint64_t rest = key->b ^ key->stamp ^ (uint64_t)key->parent << 32;
    return mt_mix(mt_mix(0, rest), key->a);
}

/* Return the id, or 0 if the entry is empty or another key's. */
static inline uint32_t mt_cache_entry_id(const struct mt_cache_entry *entry,
                                         const struct mt_key *key)
{
    uint32_t id = atomic_load_explicit(&entry->id, memory_order_acquire);
    return id && entry->a == key->a && entry->b == key->b && entry->parent == key->parent &&
                   entry->stamp == key->stamp
               ? id
               : 0;
}

/* Return the entry, or 0. */
static inline uint32_t mt_cache_search(const struct mt_cache_table *table, const struct mt_key *key)
{
    for (uint64_t at = mt_key_hash(key);; at++) {
        uint32_t i = atomic_load_explicit(&table->place[at & table->mask], memory_order_acquire);
        if (!i || mt_cache_entry_id(&table->entry[i], key))
            return i;
    }
}

/* Return the id, or 0. Any thread. */
static inline uint32_t mt_cache_find(struct mt_cache *cache, const struct mt_key *key)
{
    struct mt_cache_table *table = atomic_load_explicit(&cache->table, memory_order_acquire);
    uint32_t i = table ? mt_cache_search(table, key) : 0;
    return i ? atomic_load_explicit(&table->entry[i].id, memory_order_relaxed) : 0;
}

/* Find a key that likely comes after *last, which a thread keeps for each cache; 0 at first. */
static inline uint32_t mt_cache_follow(struct mt_cache *cache, const struct mt_key *key,
                                       uint32_t *last)
{
    struct mt_cache_table *table = atomic_load_explicit(&cache->table, memory_order_acquire);
    if (MT_UNLIKELY(!table))
        return 0;
    /* Both may be from an older table: then they are another key's entry, or none. */
    struct mt_cache_entry *from = &table->entry[*last <= table->most ? *last : 0];
    uint32_t i = atomic_load_explicit(&from->next, memory_order_relaxed);
    uint32_t id = mt_cache_entry_id(&table->entry[i], key);
    if (!id) {
        i = mt_cache_search(table, key);
        if (!i)
            return 0;
        id = atomic_load_explicit(&table->entry[i].id, memory_order_relaxed);
        atomic_store_explicit(&from->next, i, memory_order_relaxed);
    }
    *last = i;
    __builtin_prefetch(
        &table->entry[atomic_load_explicit(&table->entry[i].next, memory_order_relaxed)]);
    return id;
}

/* Add a new key with an id other than 0. One thread at a time. If memory runs out the key is not
 * added and takes the slow path each time. */
void mt_cache_add(struct mt_cache *cache, const struct mt_key *key, uint32_t id);

/* Return the set of memory replaced so far. mt_cache_release returns it to the kernel once no
 * thread can be reading it. Writer only. */
uint32_t mt_cache_retired(void);
void mt_cache_free(uint32_t places);

/* Forget everything, in a forked child. No other thread may be using the cache. */
void mt_cache_reset(struct mt_cache *cache);

#endif
