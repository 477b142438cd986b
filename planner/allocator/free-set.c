/* SPDX-License-Identifier: Apache-2.0 */
#include "free-set.h"
#include "analyzer/support/search.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 64 };

struct entry {
    struct mt_free_key key;
    struct mt_alloc_block *block;
};

struct mt_free_chunk {
    unsigned count;
    struct entry entry[ENTRIES];
};

static bool is_below(const struct mt_free_key *a, const struct mt_free_key *b)
{
    return a->size < b->size || (a->size == b->size && a->address < b->address);
}

void mt_free_set_clear(struct mt_free_set *set)
{
    for (unsigned i = 0; i < set->count; i++)
        free(set->chunk[i]);
    free(set->chunk);
    free(set->last);
    *set = (struct mt_free_set){0};
}

/* Return the first chunk whose last entry is not below the key, or the number of chunks. */
static unsigned chunk_of(const struct mt_free_set *set, const struct mt_free_key *key)
{
    return (unsigned)MT_LEADING(i, set->count, is_below(&set->last[i], key));
}

static unsigned entry_of(const struct mt_free_chunk *chunk, const struct mt_free_key *key)
{
    return (unsigned)MT_LEADING(i, chunk->count, is_below(&chunk->entry[i].key, key));
}

struct mt_free_at mt_free_set_from(const struct mt_free_set *set, struct mt_free_key key)
{
    struct mt_free_at at = {chunk_of(set, &key), 0};
    if (at.chunk < set->count)
        at.entry = entry_of(set->chunk[at.chunk], &key);
    return at;
}

struct mt_alloc_block *mt_free_set_block(const struct mt_free_set *set, struct mt_free_at at)
{
    return at.chunk < set->count ? set->chunk[at.chunk]->entry[at.entry].block : NULL;
}

struct mt_free_at mt_free_set_next(const struct mt_free_set *set, struct mt_free_at at)
{
    if (++at.entry < set->chunk[at.chunk]->count)
        return at;
    return (struct mt_free_at){at.chunk + 1, 0};
}

bool mt_free_set_back(const struct mt_free_set *set, struct mt_free_at *at)
{
    if (at->entry) {
        at->entry--;
        return true;
    }
    if (!at->chunk)
        return false;
    at->chunk--;
    at->entry = set->chunk[at->chunk]->count - 1;
    return true;
}

static bool make_room(struct mt_free_set *set)
{
    unsigned room = set->room ? set->room * 2 : 4;
    if (set->count < set->room)
        return true;
    struct mt_free_chunk **chunk = realloc(set->chunk, room * sizeof(struct mt_free_chunk *));
    if (!chunk)
        return false;
    set->chunk = chunk;
    struct mt_free_key *last = realloc(set->last, room * sizeof(*last));
    if (!last)
        return false;
    set->last = last;
    set->room = room;
    return true;
}

static bool add_chunk(struct mt_free_set *set, unsigned at)
{
    struct mt_free_chunk *chunk = make_room(set) ? malloc(sizeof(*chunk)) : NULL;
    unsigned behind = set->count - at;
    if (!chunk)
        return false;
    chunk->count = 0;
    memmove(&set->chunk[at + 1], &set->chunk[at], behind * sizeof(struct mt_free_chunk *));
    memmove(&set->last[at + 1], &set->last[at], behind * sizeof(set->last[0]));
    set->chunk[at] = chunk;
    set->count++;
    return true;
}

static void drop_chunk(struct mt_free_set *set, unsigned at)
{
    unsigned behind = --set->count - at;
    free(set->chunk[at]);
    memmove(&set->chunk[at], &set->chunk[at + 1], behind * sizeof(struct mt_free_chunk *));
    memmove(&set->last[at], &set->last[at + 1], behind * sizeof(set->last[0]));
}

static void note_last(struct mt_free_set *set, unsigned at)
{
    const struct mt_free_chunk *chunk = set->chunk[at];
    set->last[at] = chunk->entry[chunk->count - 1].key;
}

/* Move the upper half of a full chunk to a new one after it. */
static bool halve(struct mt_free_set *set, unsigned at)
{
    struct mt_free_chunk *low, *high;
    if (!add_chunk(set, at + 1))
        return false;
    low = set->chunk[at];
    high = set->chunk[at + 1];
    high->count = ENTRIES / 2;
    low->count = ENTRIES - high->count;
    memcpy(high->entry, &low->entry[low->count], high->count * sizeof(struct entry));
    note_last(set, at);
    note_last(set, at + 1);
    return true;
}

bool mt_free_set_put(struct mt_free_set *set, struct mt_free_key key, struct mt_alloc_block *block)
{
    unsigned at = chunk_of(set, &key), i;
    if (at == set->count && at)
        at--; /* after all others */
    if (!set->count && !add_chunk(set, 0))
        return false;
    if (set->chunk[at]->count == ENTRIES) {
        if (!halve(set, at))
            return false;
        at += is_below(&set->last[at], &key);
    }
    struct mt_free_chunk *chunk = set->chunk[at];
    i = entry_of(chunk, &key);
    memmove(&chunk->entry[i + 1], &chunk->entry[i], (chunk->count - i) * sizeof(struct entry));
    chunk->entry[i] = (struct entry){key, block};
    if (i == chunk->count++)
        set->last[at] = key;
    return true;
}

/* Merge a chunk with the next one if both together leave half of one empty. */
static void join(struct mt_free_set *set, unsigned at)
{
    struct mt_free_chunk *low = set->chunk[at], *high;
    if (at + 1 >= set->count)
        return;
    high = set->chunk[at + 1];
    if (low->count + high->count > ENTRIES / 2)
        return;
    memcpy(&low->entry[low->count], high->entry, high->count * sizeof(struct entry));
    low->count += high->count;
    set->last[at] = set->last[at + 1];
    drop_chunk(set, at + 1);
}

void mt_free_set_take(struct mt_free_set *set, struct mt_free_key key)
{
    unsigned at = chunk_of(set, &key), i;
    struct mt_free_chunk *chunk = set->chunk[at];
    i = entry_of(chunk, &key);
    chunk->count--;
    memmove(&chunk->entry[i], &chunk->entry[i + 1], (chunk->count - i) * sizeof(struct entry));
    if (!chunk->count) {
        drop_chunk(set, at);
        return;
    }
    if (i == chunk->count)
        note_last(set, at);
    if (chunk->count < ENTRIES / 4)
        join(set, at);
}
