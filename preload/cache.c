/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"
#include "memory.h"
#include "writer.h"

#include <errno.h>

#define FIRST_ENTRIES 4096u
#define MOST_ENTRIES (1u << 24)

static size_t table_size(uint32_t entries)
{
    return sizeof(struct mt_cache_table) + entries * sizeof(struct mt_cache_entry);
}

static void insert(struct mt_cache_table *table, const struct mt_key *key, uint32_t id)
{
    uint64_t at = mt_key_hash(key);
    while (atomic_load_explicit(&table->entry[at & table->mask].id, memory_order_relaxed))
        at++;
    struct mt_cache_entry *entry = &table->entry[at & table->mask];
    entry->a = key->a;
    entry->b = key->b;
    entry->stamp = key->stamp;
    entry->parent = key->parent;
    atomic_store_explicit(&entry->id, id, memory_order_release);
    table->used++;
}

static struct mt_key key_of(const struct mt_cache_entry *entry)
{
    return (struct mt_key){entry->a, entry->b, entry->stamp, entry->parent};
}

/* Tables that were replaced: another thread may still be reading them. */
#define MOST_RETIRED 8u
static struct mt_cache_table *_Atomic retired[MOST_RETIRED];

static unsigned free_place(void)
{
    unsigned i = 0;
    while (i < MOST_RETIRED && atomic_load_explicit(&retired[i], memory_order_relaxed))
        i++;
    return i;
}

/* One of a cache that only grows stays: all the old ones together are smaller than the new one. */
static int replace(struct mt_cache *cache, struct mt_cache_table *table)
{
    unsigned place = free_place();
    struct mt_cache_table *old = atomic_load_explicit(&cache->table, memory_order_relaxed);
    int must_retire = old && cache->forgets;
    if (must_retire && place == MOST_RETIRED)
        return -EAGAIN;
    atomic_store_explicit(&cache->table, table, memory_order_release);
    if (must_retire) {
        atomic_store_explicit(&retired[place], old, memory_order_release);
        mt_writer_wake();
    }
    return 0;
}

uint32_t mt_cache_retired(void)
{
    uint32_t places = 0;
    for (unsigned i = 0; i < MOST_RETIRED; i++)
        if (atomic_load_explicit(&retired[i], memory_order_acquire))
            places |= 1u << i;
    return places;
}

void mt_cache_free(uint32_t places)
{
    for (unsigned i = 0; i < MOST_RETIRED; i++)
        if (places & 1u << i) { /* a child that is forked in between does not free it again */
            struct mt_cache_table *table = atomic_exchange(&retired[i], NULL);
            mt_unmap(table, table_size(table->mask + 1));
        }
}

/* A table with room for one more. */
static struct mt_cache_table *with_room(struct mt_cache *cache)
{
    struct mt_cache_table *old = atomic_load_explicit(&cache->table, memory_order_relaxed);
    uint32_t entries = old ? old->mask + 1 : 0, larger = entries ? 2 * entries : FIRST_ENTRIES;
    if (old && old->used < entries / 2)
        return old;
    if (larger > (cache->forgets ? MT_CACHE_MOST : MOST_ENTRIES)) {
        if (!cache->forgets)
            return NULL;
        entries = 0;
        larger = FIRST_ENTRIES;
    }
    struct mt_cache_table *table = mt_map(table_size(larger));
    if (!table)
        return NULL;
    table->mask = larger - 1;
    for (uint32_t i = 0; i < entries; i++) {
        struct mt_key key = key_of(&old->entry[i]);
        if (old->entry[i].id)
            insert(table, &key, old->entry[i].id);
    }
    if (!replace(cache, table))
        return table;
    mt_unmap(table, table_size(larger));
    return NULL;
}

void mt_cache_add(struct mt_cache *cache, const struct mt_key *key, uint32_t id)
{
    struct mt_cache_table *table = with_room(cache);
    if (table)
        insert(table, key, id);
}

void mt_cache_reset(struct mt_cache *cache)
{
    struct mt_cache_table *table = atomic_load_explicit(&cache->table, memory_order_relaxed);
    if (table)
        mt_unmap(table, table_size(table->mask + 1));
    atomic_store_explicit(&cache->table, NULL, memory_order_relaxed);
}
