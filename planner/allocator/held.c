/* SPDX-License-Identifier: Apache-2.0 */
/* What an allocator has at its beginning. */
#include "inside.h"

static uint64_t segment_size(const struct mt_held_piece *piece, size_t n)
{
    uint64_t size = piece[0].size;
    for (size_t i = 1; i < n && !piece[i].is_first; i++)
        size += piece[i].size;
    return size;
}

static void hold(struct mt_allocator *allocator, struct mt_alloc_block *block,
                 const struct mt_held_piece *piece)
{
    struct mt_allocator_state *now = &allocator->now;
    if (piece->is_free) {
        now->inactive_split += mt_block_is_split(block) ? block->size : 0;
        mt_block_put(allocator, block);
        return;
    }
    block->state = MT_BLOCK_LIVE;
    block->is_held = true;
    block->requested = piece->requested;
    now->allocated += block->size;
    now->active += block->size;
    now->requested += block->requested;
    mt_set_number(allocator, piece->block, block);
}

/* Add a segment, of this many pieces. */
static void add_segment(struct mt_allocator *allocator, const struct mt_held_piece *piece, size_t n)
{
    uint64_t size = segment_size(piece, n), address = mt_new_segment(allocator, size);
    struct mt_alloc_pool *pool = mt_pool(allocator, piece->pool);
    struct mt_alloc_block *first = NULL, *last = NULL;
    if (!pool)
        return;
    struct mt_alloc_side *side = size == MT_SMALL_SEGMENT ? &pool->small : &pool->large;
    pool->segments++;
    for (size_t i = 0; i < n; i++) {
        struct mt_alloc_block *block =
            mt_block_new(allocator, side, piece->stream, address, piece[i].size);
        if (!block)
            return;
        address += piece[i].size;
        block->before = last;
        if (last)
            last->after = block;
        else
            first = block;
        last = block;
    }
    for (size_t i = 0; first; first = first->after)
        hold(allocator, first, &piece[i++]);
}

void mt_hold(struct mt_allocator *allocator, const struct mt_held_piece *piece, size_t n)
{
    for (size_t i = 0, end; i < n && !allocator->no_memory; i = end) {
        for (end = i + 1; end < n && !piece[end].is_first; end++)
            ;
        add_segment(allocator, &piece[i], end - i);
    }
    allocator->peak = allocator->now;
}
