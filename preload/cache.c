/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"
#include "memory.h"

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
    entry->key = *key;
    atomic_store_explicit(&entry->id, id, memory_order_release);
    table->used++;
}

/* A table with room for one more. The old one stays mapped: another thread may be reading it, and
 * all the old ones together are smaller than the new one. */
static struct mt_cache_table *with_room(struct mt_cache *cache)
{
    struct mt_cache_table *old = atomic_load_explicit(&cache->table, memory_order_relaxed);
    uint32_t entries = old ? old->mask + 1 : FIRST_ENTRIES / 2;
    if (old && old->used < entries / 2)
        return old;
    if (entries >= MOST_ENTRIES)
        return NULL;
    struct mt_cache_table *table = mt_map(table_size(entries * 2));
    if (!table)
        return NULL;
    table->mask = entries * 2 - 1;
    for (uint32_t i = 0; old && i < entries; i++)
        if (old->entry[i].id)
            insert(table, &old->entry[i].key, old->entry[i].id);
    atomic_store_explicit(&cache->table, table, memory_order_release);
    return table;
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
