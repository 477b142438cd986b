/* SPDX-License-Identifier: Apache-2.0 */
#include "cached.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "private-pools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const mt_free_kind_names[MT_FREE_KINDS] = {
    [MT_FREE_PIECES] = "pieces",
    [MT_FREE_WHOLE] = "whole_segments",
    [MT_FREE_OTHERS] = "other_pools",
};

void mt_cached_clear(struct mt_cached *cached)
{
    free(cached->pool);
    memset(cached, 0, sizeof *cached);
}

/* Name "MemPool (0, 1)", "private pool of graph 1". */
static void name_private(struct mt_cached_pool *pool, const struct mt_replay *replay,
                         const struct mt_block *segment)
{
    char name[sizeof pool->name];
    mt_private_pool_text(name, sizeof name, replay, segment);
    const char *graph = strstr(name, "graph ");
    pool->is_of_graphs = graph || !strncmp(name, "graphs", 6);
    if (!strncmp(name, "MemPool", 7))
        snprintf(pool->name, sizeof pool->name, "%s", name);
    else if (pool->is_of_graphs)
        snprintf(pool->name, sizeof pool->name, "private pool of %.70s", graph ? graph : name);
    else
        snprintf(pool->name, sizeof pool->name, "private pool");
}

/* Name a pool by one of its segments, if it is private, or by its stream. */
static void name_pool(struct mt_cached_pool *pool, const struct mt_replay *replay,
                      const struct mt_block *segment)
{
    if (pool->is_private)
        name_private(pool, replay, segment);
    else if (!pool->number)
        snprintf(pool->name, sizeof pool->name, "unknown stream");
    else if (!pool->stream)
        snprintf(pool->name, sizeof pool->name, "default stream");
    else
        snprintf(pool->name, sizeof pool->name, "side stream %u",
                 replay->reserved.pools.pool[pool->number].nth);
}

MT_ORDER(by_reserved, struct mt_cached_pool,
         MT_FALLING(reserved) ?: MT_BY_TEXT(name) ?: MT_RISING(number))

struct collecting {
    struct mt_cached *cached;
    size_t capacity;
    const struct mt_replay *replay;
};

/* Return a segment's pool; NULL: no memory. */
static struct mt_cached_pool *pool_of(struct collecting *c, const struct mt_segment *segment)
{
    struct mt_cached *cached = c->cached;
    const struct mt_stream_pools *pools = &c->replay->reserved.pools;
    struct mt_cached_pool new = {.number = segment->stream_pool, .is_private = false};
    if (new.number &&new.number < pools->n) {
        new.stream = pools->pool[new.number].stream;
        new.pool = pools->pool[new.number].pool;
    }
    new.is_private = new.pool || mt_is_private_segment(c->replay, segment->memory);
    name_pool(&new, c->replay, segment->memory);
    for (size_t i = 0; i < cached->n; i++)
        if (cached->pool[i].number == new.number && !strcmp(cached->pool[i].name, new.name))
            return &cached->pool[i];
    return MT_APPEND(cached->pool, c->capacity, cached->n, new) ? NULL
                                                                : &cached->pool[cached->n - 1];
}

/* Add a segment. Return its pool's index; -1: no memory. */
static long add(struct collecting *c, const struct mt_segment *segment)
{
    struct mt_cached_pool *pool = pool_of(c, segment);
    if (!pool)
        return -1;
    pool->reserved += segment->size;
    pool->allocated += segment->used;
    pool->whole += segment->n_blocks ? 0 : segment->size;
    pool->n_whole += !segment->n_blocks;
    pool->in_pieces += segment->n_blocks ? segment->size - segment->used : 0;
    pool->pieces += segment->pieces;
    if (pool->largest < segment->largest_free)
        pool->largest = segment->largest_free;
    return pool - c->cached->pool;
}

static const struct mt_segment *segment_at(const struct mt_segments *segments, size_t i)
{
    return i < segments->n ? &segments->segment[i] : &segments->empty[i - segments->n];
}

/* Add all segments, and find the line that requested most of each pool. of: each segment's pool.
 * Return 0 or -ENOMEM. */
static int add_all(struct collecting *c, const struct mt_segments *segments, long *of)
{
    size_t n = segments->n + segments->n_empty;
    for (size_t i = 0; i < n; i++)
        if ((of[i] = add(c, segment_at(segments, i))) < 0)
            return -ENOMEM;
    struct mt_sums *lines = calloc(c->cached->n + 1, sizeof *lines);
    int rc = lines ? 0 : -ENOMEM;
    for (size_t i = 0; !rc && i < n; i++) {
        const struct mt_segment *segment = segment_at(segments, i);
        rc = mt_sums_count(&lines[of[i]],
                           mt_stack(c->replay->definitions, segment->memory->stack)->user,
                           segment->size);
    }
    for (size_t i = 0; lines && i < c->cached->n; i++) {
        mt_sums_sort(&lines[i]);
        c->cached->pool[i].stack = lines[i].n ? lines[i].sum[0].stack : 0;
        mt_sums_clear(&lines[i]);
    }
    free(lines);
    return rc;
}

static void sum_up(struct mt_cached *cached, uint16_t own)
{
    uint64_t most = 0, of_graphs = 0, largest = 0;
    bool is_known = false;
    for (size_t i = 0; i < cached->n; i++) {
        const struct mt_cached_pool *pool = &cached->pool[i];
        bool is_it = own && pool->number == own;
        if (is_it || (!is_known && !pool->is_private && pool->allocated >= most)) {
            cached->own = i;
            most = pool->allocated;
            is_known |= is_it;
        }
    }
    for (size_t i = 0; i < cached->n; i++) {
        const struct mt_cached_pool *pool = &cached->pool[i];
        cached->others += i == cached->own ? 0 : pool->reserved - pool->allocated;
        of_graphs += pool->is_of_graphs ? pool->reserved : 0;
        if (pool->is_of_graphs && pool->reserved > largest)
            largest = pool->reserved;
    }
    cached->sharing = of_graphs - largest;
    if (cached->n) {
        cached->whole = cached->pool[cached->own].whole;
        cached->in_pieces = cached->pool[cached->own].in_pieces;
    }
}

int mt_cached_find(struct mt_cached *cached, const struct mt_replay *replay,
                   const struct mt_segments *segments, uint64_t most, uint16_t own)
{
    struct collecting c = {.cached = cached, .replay = replay};
    *cached = (struct mt_cached){.n = 0};
    if (segments->unplaced)
        return 0;
    long *of = calloc(segments->n + segments->n_empty + 1, sizeof *of);
    int rc = of ? add_all(&c, segments, of) : -ENOMEM;
    free(of);
    if (cached->n)
        qsort(cached->pool, cached->n, sizeof *cached->pool, by_reserved);
    sum_up(cached, own);
    if (cached->others + cached->whole + cached->in_pieces > most)
        mt_cached_clear(cached);
    return rc;
}

int mt_cached_find_most(struct mt_cached *cached, const struct mt_replay *replay, unsigned slot)
{
    const struct mt_stream_pools *pools = &replay->reserved.pools;
    size_t capacity = 0;
    *cached = (struct mt_cached){.n = 0};
    for (size_t i = 1; i < pools->n; i++) {
        const struct mt_stream_pool *pool = &pools->pool[i];
        if (pool->slot != slot || !pool->most.reserved)
            continue;
        const struct mt_block segment = {.stack = pool->most.stack, .range = pool->most.range};
        struct mt_cached_pool new = {.stream = pool->stream,
                                     .pool = pool->pool,
                                     .number = (uint16_t)i,
                                     .is_private = pool->pool != 0,
                                     .stack = mt_stack(replay->definitions, pool->most.stack)->user,
                                     .reserved = pool->most.reserved,
                                     .allocated = pool->most.allocated < pool->most.reserved
                                                      ? pool->most.allocated
                                                      : pool->most.reserved};
        name_pool(&new, replay, &segment);
        if (MT_APPEND(cached->pool, capacity, cached->n, new))
            return -ENOMEM;
    }
    if (cached->n)
        qsort(cached->pool, cached->n, sizeof *cached->pool, by_reserved);
    sum_up(cached, 0);
    return 0;
}

enum mt_free_kind mt_cached_kind(const struct mt_cached *cached)
{
    uint64_t half = (cached->others + cached->whole + cached->in_pieces) / 2;
    return cached->others > half      ? MT_FREE_OTHERS
           : cached->whole > half     ? MT_FREE_WHOLE
           : cached->in_pieces > half ? MT_FREE_PIECES
                                      : MT_FREE_KINDS;
}
