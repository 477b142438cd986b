/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"
#include "preload/host/memory.h"
#include "wake.h"

#define FIRST_ENTRIES 2048u
#define MOST_ENTRIES (1u << 23)
#define PLACES_AN_ENTRY 2u

static size_t entries_size(uint32_t most)
{
    return sizeof(struct mt_cache_table) + (most + 1) * sizeof(struct mt_cache_entry);
}

static size_t table_size(uint32_t most)
{
    return entries_size(most) + most * PLACES_AN_ENTRY * sizeof(uint32_t);
}

static struct mt_cache_table *make(uint32_t most)
{
    struct mt_cache_table *table = mt_map(table_size(most));
    if (!table)
        return NULL;
    table->most = most;
    table->mask = most * PLACES_AN_ENTRY - 1;
    table->place = (_Atomic uint32_t *)((char *)table + entries_size(most));
    return table;
}

static void insert(struct mt_cache_table *table, const struct mt_key *key, uint32_t id,
                   uint32_t next)
{
    uint64_t at = mt_key_hash(key);
    uint32_t i = ++table->used;
    struct mt_cache_entry *entry = &table->entry[i];
    entry->a = key->a;
    entry->b = key->b;
    entry->stamp = key->stamp;
    entry->parent = key->parent;
    atomic_store_explicit(&entry->next, next, memory_order_relaxed);
    atomic_store_explicit(&entry->id, id, memory_order_release);
    while (atomic_load_explicit(&table->place[at & table->mask], memory_order_relaxed))
        at++;
    atomic_store_explicit(&table->place[at & table->mask], i, memory_order_release);
}

static void copy(const struct mt_cache_table *from, struct mt_cache_table *to)
{
    for (const struct mt_cache_entry *entry = &from->entry[1]; entry <= &from->entry[from->used];
         entry++) {
        struct mt_key key = {entry->a, entry->b, entry->stamp, entry->parent};
        insert(to, &key, entry->id, entry->next);
    }
}

/* Replaced memory that another thread may still be reading. */
#define MOST_RETIRED 8u
static struct {
    void *_Atomic memory;
    size_t size;
} retired[MOST_RETIRED];

static unsigned free_place(void)
{
    unsigned i = 0;
    while (i < MOST_RETIRED && atomic_load_explicit(&retired[i].memory, memory_order_relaxed))
        i++;
    return i;
}

static bool cache_can_retire(void)
{
    return free_place() < MOST_RETIRED;
}

/* Hand over memory from mt_map that another thread within a hook may still be reading. There are
 * few places: check for a free one first. Call with the intern lock held. */
static void cache_retire(void *memory, size_t size)
{
    unsigned place = free_place();
    retired[place].size = size;
    atomic_store_explicit(&retired[place].memory, memory, memory_order_release);
    mt_writer_wake();
}

/* Replace the table. A cache that only grows keeps its old tables: together they are smaller than
 * the new one. */
static void replace(struct mt_cache *cache, struct mt_cache_table *table)
{
    struct mt_cache_table *old = atomic_load_explicit(&cache->table, memory_order_relaxed);
    atomic_store_explicit(&cache->table, table, memory_order_release);
    if (old && cache->forgets)
        cache_retire(old, table_size(old->most));
}

uint32_t mt_cache_retired(void)
{
    uint32_t places = 0;
    for (unsigned i = 0; i < MOST_RETIRED; i++)
        if (atomic_load_explicit(&retired[i].memory, memory_order_acquire))
            places |= 1u << i;
    return places;
}

void mt_cache_free(uint32_t places)
{
    for (unsigned i = 0; i < MOST_RETIRED; i++)
        if (places & 1u << i) { /* a child forked in between does not free it again */
            size_t size = retired[i].size;
            mt_unmap(atomic_exchange(&retired[i].memory, NULL), size);
        }
}

/* Return a table with room for one more entry, or NULL. */
static struct mt_cache_table *with_room(struct mt_cache *cache)
{
    struct mt_cache_table *old = atomic_load_explicit(&cache->table, memory_order_relaxed);
    uint32_t most = cache->forgets ? MT_CACHE_MOST : MOST_ENTRIES;
    if (old && old->used < old->most)
        return old;
    bool is_full = old && old->most == most;
    if ((is_full && !cache->forgets) || (old && cache->forgets && !cache_can_retire()))
        return NULL;
    struct mt_cache_table *table = make(old && !is_full ? 2 * old->most : FIRST_ENTRIES);
    if (!table)
        return NULL;
    if (old && !is_full)
        copy(old, table);
    replace(cache, table);
    return table;
}

void mt_cache_add(struct mt_cache *cache, const struct mt_key *key, uint32_t id)
{
    struct mt_cache_table *table = with_room(cache);
    if (table)
        insert(table, key, id, 0);
}

void mt_cache_reset(struct mt_cache *cache)
{
    struct mt_cache_table *table = atomic_load_explicit(&cache->table, memory_order_relaxed);
    if (table)
        mt_unmap(table, table_size(table->most));
    atomic_store_explicit(&cache->table, NULL, memory_order_relaxed);
}
