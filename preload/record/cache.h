/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from what the hot path sees (addresses) to an id that was interned for it. Found without a
 * lock; added to under the caller's lock. An address that is reused for something else comes with
 * another stamp, and so is another key. A program that makes new code all day would fill any memory
 * so: a cache that forgets begins anew when it is full, and is looked into within hooks only
 * (mt_enter), so that the writer knows when nobody looks into what it was before.
 *
 * Entries lie in the order in which they were added, and each remembers what was found after it the
 * last time: a program that does the same again finds the next one where it was, in memory that was
 * asked for when the last one was found, and not by its hash, in a line of its own.
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

/* A key and its id, without gaps: two in a cache line. */
struct mt_cache_entry {
    uint64_t a, b;
    uint32_t stamp, parent;
    _Atomic uint32_t id;   /* 0: empty; set last */
    _Atomic uint32_t next; /* the entry that was found after this one */
};

struct mt_cache_table {
    uint32_t most, used;     /* entries, from 1 on */
    uint32_t mask;           /* places - 1 */
    _Atomic uint32_t *place; /* of an entry's hash, or after it: the entry; 0: none */
    _Alignas(sizeof(struct mt_cache_entry)) struct mt_cache_entry entry[];
};

struct mt_cache {
    struct mt_cache_table *_Atomic table;
    int forgets;
};

#define MT_CACHE_MOST (1u << 16) /* entries of one that forgets: 2.5 MiB */

static inline uint64_t mt_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

/* A place is its lowest bits, and keys may differ in their highest only (modules, at one line): a
 * product has nothing of these below, so each is mixed down twice. */
static inline uint64_t mt_key_hash(const struct mt_key *key)
{
    uint64_t rest = key->b ^ key->stamp ^ (uint64_t)key->parent << 32;
    return mt_mix(mt_mix(0, rest), key->a);
}

/* The id, or 0: the entry is empty, or another one's. */
static inline uint32_t mt_cache_entry_id(const struct mt_cache_entry *entry,
                                         const struct mt_key *key)
{
    uint32_t id = atomic_load_explicit(&entry->id, memory_order_acquire);
    return id && entry->a == key->a && entry->b == key->b && entry->parent == key->parent &&
                   entry->stamp == key->stamp
               ? id
               : 0;
}

/* The entry; 0: there is none. */
static inline uint32_t mt_cache_search(const struct mt_cache_table *table, const struct mt_key *key)
{
    for (uint64_t at = mt_key_hash(key);; at++) {
        uint32_t i = atomic_load_explicit(&table->place[at & table->mask], memory_order_acquire);
        if (!i || mt_cache_entry_id(&table->entry[i], key))
            return i;
    }
}

/* The id, or 0: not there. Any thread. */
static inline uint32_t mt_cache_find(struct mt_cache *cache, const struct mt_key *key)
{
    struct mt_cache_table *table = atomic_load_explicit(&cache->table, memory_order_acquire);
    uint32_t i = table ? mt_cache_search(table, key) : 0;
    return i ? atomic_load_explicit(&table->entry[i].id, memory_order_relaxed) : 0;
}

/* Likewise, where it is likely that this comes after *last, which a thread keeps for each cache;
 * 0 at first. */
static inline uint32_t mt_cache_follow(struct mt_cache *cache, const struct mt_key *key,
                                       uint32_t *last)
{
    struct mt_cache_table *table = atomic_load_explicit(&cache->table, memory_order_acquire);
    if (MT_UNLIKELY(!table))
        return 0;
    /* Both may be of a table before: then they are another entry's, or none's. */
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

/* Adds a key that is not there, with an id that is not 0. One thread at a time. Does nothing when
 * there is no memory: the key is then found by the slow way each time. */
void mt_cache_add(struct mt_cache *cache, const struct mt_key *key, uint32_t id);

/* Hands in memory from mt_map that another thread within a hook may still be reading. Only so much
 * waits at a time: ask whether there is room first. With the intern lock. */
bool mt_cache_can_retire(void);
void mt_cache_retire(void *memory, size_t size);

/* What was replaced so far, as a set; and gives that back to the kernel, once no thread can be
 * reading it. Writer. */
uint32_t mt_cache_retired(void);
void mt_cache_free(uint32_t places);

/* Forgets everything; no other thread may be using the cache (a forked child's). */
void mt_cache_reset(struct mt_cache *cache);

#endif
