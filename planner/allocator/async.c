/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend:cudaMallocAsync: the driver's pool. It reserves memory in pieces of 32 MiB, can map free
 * memory behind any address and so does not fragment, and keeps it until torch.cuda.empty_cache().
 * It counts requested bytes and allocates units of 512 bytes.
 */
#include "inside.h"

static const uint64_t piece = (uint64_t)32 << 20;

static uint64_t up(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static bool reserve(struct mt_allocator *allocator, uint64_t bytes)
{
    if (bytes > mt_card_free(allocator))
        return false;
    allocator->held += bytes;
    allocator->now.reserved += bytes;
    return true;
}

void mt_async_trim(struct mt_allocator *allocator)
{
    uint64_t keep = up(allocator->in_pool, piece);
    if (keep >= allocator->now.reserved)
        return;
    allocator->held -= allocator->now.reserved - keep;
    allocator->now.reserved = keep;
}

static bool grow(struct mt_allocator *allocator, uint64_t used)
{
    if (used <= allocator->now.reserved)
        return true;
    if (reserve(allocator, up(used - allocator->now.reserved, piece)))
        return true;
    mt_async_trim(allocator);
    return reserve(allocator, up(used - allocator->now.reserved, piece)) ||
           reserve(allocator,
                   up(used - allocator->now.reserved, MT_PAGE)); /* the rest of the card */
}

bool mt_async_allocate(struct mt_allocator *allocator, const struct mt_request *request)
{
    struct mt_allocator_state *now = &allocator->now;
    uint64_t size = up(request->size, MT_MIN_BLOCK);
    if (size < request->size || size > allocator->total ||
        (allocator->has_limit && now->requested + request->size > allocator->limit) ||
        !grow(allocator, allocator->in_pool + size)) {
        mt_note_oom(allocator, request, size);
        return false;
    }
    struct mt_alloc_block *block =
        mt_block_new(allocator, &allocator->pool[0]->large, request->stream, 0, size);
    if (!block || !mt_set_number(allocator, request->block, block))
        return true;
    block->state = MT_BLOCK_LIVE;
    block->requested = request->size;
    allocator->in_pool += size;
    now->allocated += request->size;
    now->active += request->size;
    now->requested += request->size;
    return true;
}

void mt_async_free(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    struct mt_allocator_state *now = &allocator->now;
    allocator->in_pool -= block->size;
    now->allocated -= block->requested;
    now->active -= block->requested;
    now->requested -= block->requested;
    allocator->block[block->number] = NULL;
    mt_drop_uses(block);
    mt_block_drop(allocator, block);
}
