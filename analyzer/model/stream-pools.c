/* SPDX-License-Identifier: Apache-2.0 */
#include "stream-pools.h"
#include "analyzer/support/grow.h"

#include <stdlib.h>
#include <string.h>

void mt_stream_pools_clear(struct mt_stream_pools *pools)
{
    free(pools->pool);
    memset(pools, 0, sizeof *pools);
}

void mt_block_requests_clear(struct mt_block_requests *requests)
{
    free(requests->of);
    memset(requests, 0, sizeof *requests);
}

int mt_block_requests_grow(struct mt_block_requests *requests, uint32_t index)
{
    size_t n = ((size_t)index + 1) * 2;
    struct mt_block_request *of = realloc(requests->of, n * sizeof *of);
    if (!of)
        return -ENOMEM;
    memset(of + requests->n, 0, (n - requests->n) * sizeof *of);
    requests->of = of;
    requests->n = n;
    return 0;
}

/* Return the number of a stream on its device, as they come; 0: the default one. */
static uint32_t nth_of(const struct mt_stream_pools *pools, const struct mt_request_stream *of)
{
    uint32_t most = 0;
    for (size_t i = 1; i < pools->n && of->stream; i++) {
        if (pools->pool[i].slot != of->slot)
            continue;
        if (pools->pool[i].stream == of->stream)
            return pools->pool[i].nth;
        most = pools->pool[i].nth > most ? pools->pool[i].nth : most;
    }
    return of->stream ? most + 1 : 0;
}

int mt_stream_pools_number(struct mt_stream_pools *pools, const struct mt_request_stream *of,
                           uint16_t *number)
{
    *number = 0;
    if (!pools->n && MT_APPEND(pools->pool, pools->capacity, pools->n, (struct mt_stream_pool){0}))
        return -ENOMEM;
    for (size_t i = 1; i < pools->n && !*number; i++)
        if (pools->pool[i].slot == of->slot && pools->pool[i].stream == of->stream &&
            pools->pool[i].pool == of->pool)
            *number = (uint16_t)i;
    if (*number || pools->n > MT_STREAM_POOLS)
        return 0;
    *number = (uint16_t)pools->n;
    return MT_APPEND(
        pools->pool, pools->capacity, pools->n,
        (struct mt_stream_pool){
            .stream = of->stream, .pool = of->pool, .slot = of->slot, .nth = nth_of(pools, of)});
}

void mt_stream_pool_got(struct mt_stream_pool *pool, const struct mt_block *segment)
{
    pool->reserved += segment->size;
    if (segment->size <= pool->largest)
        return;
    pool->largest = segment->size;
    pool->stack = segment->stack;
    pool->range = segment->range;
}

void mt_stream_pool_lost(struct mt_stream_pool *pool, uint64_t bytes)
{
    pool->reserved -= bytes < pool->reserved ? bytes : pool->reserved;
    if (!pool->reserved)
        pool->largest = 0;
}

void mt_stream_pools_most(struct mt_stream_pools *pools, unsigned slot)
{
    for (size_t i = 1; i < pools->n; i++) {
        struct mt_stream_pool *pool = &pools->pool[i];
        if (pool->slot == slot)
            pool->most = (struct mt_stream_pool_most){pool->reserved, pool->allocated,
                                                      pool->largest, pool->stack, pool->range};
    }
}
