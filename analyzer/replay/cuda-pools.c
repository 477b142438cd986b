/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-pools.h"
#include "analyzer/support/grow.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <string.h>

#define MOST_POOLS 256u /* of a hostile trace, further ones are left out */

void mt_cuda_pools_clear(struct mt_cuda_pools *pools)
{
    free(pools->pool);
    memset(pools, 0, sizeof *pools);
}

/* Return a pool; NULL: it is unknown. A handle is that of one device. */
static struct mt_cuda_pool *find(struct mt_cuda_pools *pools, unsigned slot, uint64_t handle)
{
    for (size_t i = 0; i < pools->n; i++)
        if (pools->pool[i].handle == handle && (handle || pools->pool[i].slot == slot))
            return &pools->pool[i];
    return NULL;
}

static struct mt_cuda_pool *find_or_add(struct mt_cuda_pools *pools, unsigned slot, uint64_t handle)
{
    struct mt_cuda_pool *pool = find(pools, slot, handle);
    if (pool || pools->n == MOST_POOLS)
        return pool;
    if (mt_grow(&pools->pool, &pools->capacity, pools->n + 1, sizeof *pools->pool))
        return NULL;
    pool = &pools->pool[pools->n++];
    *pool = (struct mt_cuda_pool){.slot = slot, .handle = handle};
    return pool;
}

void mt_cuda_pools_doubt(struct mt_cuda_pools *pools)
{
    for (size_t i = 0; i < pools->n; i++)
        if (!pools->pool[i].kept.is_exact)
            memset(&pools->pool[i].kept, 0, sizeof pools->pool[i].kept);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void note_state(struct mt_cuda_pools *pools, struct mt_cuda_pool *pool,
                       const struct mt_event *event)
{
    pool->threshold = event->CUDA_POOL.threshold;
    pool->stack = event->stack;
    pool->last =
        (struct mt_cuda_pool_use){event->time_ns, event->CUDA_POOL.reserved, event->CUDA_POOL.used};
    pool->most_reserved = larger(pool->most_reserved, pool->last.reserved);
    pool->most_used = larger(pool->most_used, pool->last.used);
    pool->floor = pool->last.reserved;
    if (!pool->handle || pools->has_own)
        return;
    pools->has_own = true;
    mt_cuda_pools_doubt(pools);
}

int mt_cuda_pools_event(struct mt_cuda_pools *pools, const struct mt_event *event)
{
    struct mt_cuda_pool *pool =
        find_or_add(pools, mt_device_slot(event->device), event->CUDA_POOL.pool);
    if (!pool)
        return pools->n == MOST_POOLS ? 0 : -ENOMEM;
    if (event->kind == MT_CUDA_POOL) {
        note_state(pools, pool, event);
        return 0;
    }
    pool->most_reserved = larger(pool->most_reserved, event->CUDA_POOL_HIGH.reserved);
    pool->most_used = larger(pool->most_used, event->CUDA_POOL_HIGH.used);
    return 0;
}

static bool is_in_order(uint64_t api)
{
    return api == MT_API_CUDA_MALLOC_ASYNC || api == MT_API_CU_MEM_ALLOC_ASYNC;
}

static bool is_of_pool(uint64_t api)
{
    return is_in_order(api) || api == MT_API_CUDA_MALLOC_FROM_POOL_ASYNC ||
           api == MT_API_CU_MEM_ALLOC_FROM_POOL_ASYNC;
}

void mt_cuda_pools_block(struct mt_cuda_pools *pools, const struct mt_block *block, bool begins)
{
    struct mt_cuda_pool *pool =
        is_in_order(block->api) ? find(pools, mt_device_slot(block->device), 0) : NULL;
    if (!pool)
        return;
    if (begins)
        pool->blocks += block->size;
    else
        pool->blocks -= pool->blocks < block->size ? pool->blocks : block->size;
    pool->floor = larger(pool->floor, pool->blocks);
}

/* Return what is free in a pool at least: when the program waits, the pool may shrink to its
 * threshold. */
static uint64_t free_in(const struct mt_cuda_pools *pools, const struct mt_cuda_pool *pool)
{
    uint64_t kept = pool->floor < pool->threshold ? pool->floor : pool->threshold;
    bool is_known = !pool->handle && !pools->has_own;
    return is_known && kept > pool->blocks ? kept - pool->blocks : 0;
}

/* Note what is free in a pool when something outside of it is requested. */
static void note_kept(struct mt_cuda_pool *pool, const struct mt_event *event, uint64_t bytes,
                      bool is_exact)
{
    if (bytes <= pool->kept.bytes)
        return;
    pool->kept.bytes = bytes;
    pool->kept.time_ns = event->time_ns;
    pool->kept.wanted = event->size;
    pool->kept.stack = event->stack;
    pool->kept.is_exact = is_exact;
}

void mt_cuda_pools_request(struct mt_cuda_pools *pools, const struct mt_event *event)
{
    bool has_failed = event->CUDA_MALLOC.result != 0;
    unsigned slot = mt_device_slot(event->device);
    uint64_t api = event->CUDA_MALLOC.api;
    enum mt_space space = mt_cuda_api_space(api);
    if (event->kind != MT_CUDA_MALLOC || is_of_pool(api) ||
        (space != MT_SPACE_DEVICE && space != MT_SPACE_PHYSICAL && space != MT_SPACE_ARRAY))
        return;
    for (size_t i = 0; i < pools->n; i++) {
        struct mt_cuda_pool *pool = &pools->pool[i];
        if (pool->slot != slot)
            continue;
        if (has_failed) { /* CUDA has just reported it */
            pool->failed = pool->last;
            pool->failed.time_ns = event->time_ns;
            note_kept(pool, event, mt_cuda_pool_free(&pool->failed), true);
            continue;
        }
        note_kept(pool, event, free_in(pools, pool), false);
        pool->floor = pool->blocks; /* the driver may have taken back the rest for that */
    }
}
