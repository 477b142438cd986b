/* SPDX-License-Identifier: Apache-2.0 */
/* Private pools: of CUDA graphs, and torch.cuda.MemPool. */
#include "analyzer/support/grow.h"
#include "inside.h"

struct mt_alloc_pool *mt_pool(struct mt_allocator *allocator, unsigned number)
{
    bool has_room = !MT_GROW(allocator->pool, allocator->n_pools, number);
    struct mt_alloc_pool *pool = has_room ? allocator->pool[number] : NULL;
    if (pool)
        return pool;
    pool = has_room ? calloc(1, sizeof(*pool)) : NULL;
    if (!pool) {
        allocator->no_memory = true;
        return NULL;
    }
    pool->number = (uint16_t)number;
    pool->small.pool = pool->large.pool = pool;
    pool->small.is_small = true;
    allocator->pool[number] = pool;
    return pool;
}

static void clear_side(struct mt_alloc_side *side)
{
    for (unsigned i = 0; i < side->n_streams; i++) {
        mt_free_set_clear(&side->stream[i].free);
        mt_free_set_clear(&side->stream[i].unmapped);
    }
    free(side->stream);
}

void mt_pools_destroy(struct mt_allocator *allocator)
{
    for (unsigned i = 0; i < allocator->n_pools; i++) {
        if (!allocator->pool[i])
            continue;
        clear_side(&allocator->pool[i]->small);
        clear_side(&allocator->pool[i]->large);
        free(allocator->pool[i]);
    }
    free(allocator->pool);
}

/* Remove a pool. Its number may be used again. */
void mt_pool_remove(struct mt_alloc_pool *pool)
{
    pool->is_there = pool->is_freeable = false;
    pool->users = pool->segments = 0;
    pool->flags = 0;
}

static void use(struct mt_alloc_pool *pool, uint64_t flags)
{
    pool->users = pool->is_there ? pool->users + 1 : 1;
    pool->is_there = true;
    pool->flags |= (uint16_t)flags;
}

static int begin(struct mt_allocator *allocator, struct mt_alloc_pool *pool, uint64_t flags)
{
    use(pool, flags & ~(uint64_t)MT_POOL_CAPTURES);
    pool->begun++;
    pool->captures = flags & MT_POOL_CAPTURES;
    allocator->begun++;
    allocator->capturing += pool->captures;
    return 0;
}

static int end(struct mt_allocator *allocator, struct mt_alloc_pool *pool)
{
    if (!pool->begun)
        return -EINVAL;
    pool->begun--;
    allocator->begun--;
    allocator->capturing -= pool->captures;
    if (pool->captures)
        mt_end_capture(allocator, pool);
    pool->captures = false;
    return 0;
}

int mt_pool_request(struct mt_allocator *allocator, const struct mt_request *request)
{
    struct mt_alloc_pool *pool = request->pool ? mt_pool(allocator, request->pool) : NULL;
    if (!pool)
        return request->pool ? -ENOMEM : -EINVAL;
    switch (request->kind) {
    case MT_REQUEST_POOL_BEGIN:
        return begin(allocator, pool, request->size);
    case MT_REQUEST_POOL_END:
        return end(allocator, pool);
    case MT_REQUEST_POOL_CREATE:
        use(pool, request->size);
        return 0;
    default:
        if (!pool->users)
            return -EINVAL;
        if (!--pool->users)
            pool->is_freeable = true;
        return 0;
    }
}
