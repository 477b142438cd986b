/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding, and the best-fitting free block. */
#include "inside.h"

static unsigned log2_of(uint64_t size)
{
    return 63 - (unsigned)__builtin_clzll(size);
}

/* Return roundup_power2_divisions for the size's interval. */
static uint64_t divisions_of(const struct mt_allocator *allocator, uint64_t size)
{
    int interval = (int)log2_of(size) - 20;
    interval = interval < 0 ? 0 : interval;
    interval = interval < MT_ROUNDUP_INTERVALS ? interval : MT_ROUNDUP_INTERVALS - 1;
    return allocator->conf.roundup[interval];
}

/* Round up to the next division of the interval between two powers of two. */
static uint64_t to_division(uint64_t size, uint64_t divisions)
{
    uint64_t power = UINT64_C(1) << log2_of(size), step = power >> log2_of(divisions);
    if (power == size)
        return size;
    return step ? (size + step - 1) & ~(step - 1) : power << 1;
}

uint64_t mt_round_size(const struct mt_allocator *allocator, uint64_t size)
{
    if (size < MT_MIN_BLOCK)
        return MT_MIN_BLOCK;
    uint64_t divisions = divisions_of(allocator, size);
    if (divisions > 1 && size > MT_MIN_BLOCK * divisions)
        return to_division(size, divisions);
    if (divisions == 1 && allocator->keeps_odd && size > MT_MIN_BLOCK)
        return size;
    return (size + MT_MIN_BLOCK - 1) & ~(uint64_t)(MT_MIN_BLOCK - 1);
}

uint64_t mt_segment_size(const struct mt_allocator *allocator, uint64_t size)
{
    if (size <= MT_SMALL_SIZE)
        return MT_SMALL_SEGMENT;
    if (size < MT_MIN_LARGE)
        return allocator->conf.large_segment_size;
    return (size + MT_ROUND_LARGE - 1) / MT_ROUND_LARGE * MT_ROUND_LARGE;
}

/* Return the size that the block can grow to by mapping the addresses after it. */
static uint64_t expandable_size(const struct mt_alloc_block *block)
{
    const struct mt_alloc_block *after = block->after;
    return block->size + (after && after->state == MT_BLOCK_UNMAPPED ? after->size : 0);
}

/* Find the best fit. An expandable block counts with the size that it can grow to. */
static struct mt_alloc_block *best_expandable(const struct mt_free_set *set, struct mt_free_at at)
{
    struct mt_alloc_block *block = mt_free_set_block(set, at);
    while (block->segment) {
        at = mt_free_set_next(set, at);
        struct mt_alloc_block *next = mt_free_set_block(set, at);
        if (!next || expandable_size(next) >= expandable_size(block))
            break;
        block = next;
    }
    return block;
}

/* Return the next block of a cudaMalloc segment, without checking for the best fit. */
static struct mt_alloc_block *not_expandable(const struct mt_free_set *set, struct mt_free_at at)
{
    struct mt_alloc_block *block;
    do {
        at = mt_free_set_next(set, at);
        block = mt_free_set_block(set, at);
    } while (block && block->segment);
    return block;
}

bool mt_find_free(struct mt_allocator *allocator, struct mt_wanted *wanted)
{
    const struct mt_alloc_conf *conf = &allocator->conf;
    struct mt_alloc_side *side = wanted->side;
    side->searches += allocator->has_limit && conf->garbage_collection_threshold > 0;
    if (wanted->stream >= side->n_streams)
        return false;
    struct mt_free_set *set = &side->stream[wanted->stream].free;
    struct mt_free_at at = mt_free_set_from(set, (struct mt_free_key){wanted->size, 0});
    struct mt_alloc_block *block = mt_free_set_block(set, at);
    if (block && block->segment)
        block = wanted->expandable ? best_expandable(set, at) : not_expandable(set, at);
    if (!block)
        return false;
    if (wanted->size < conf->max_split_size && block->size >= conf->max_split_size)
        return false;
    if (wanted->size >= conf->max_split_size &&
        block->size >= wanted->size + conf->max_non_split_rounding)
        return false;
    mt_block_take(block);
    wanted->block = block;
    return true;
}

static bool must_split(const struct mt_allocator *allocator, const struct mt_wanted *wanted)
{
    const struct mt_alloc_block *block = wanted->block;
    uint64_t rest = block->size - wanted->size;
    if (block->side->pool->flags & MT_POOL_NO_SPLIT)
        return false;
    if (block->side->is_small || wanted->expandable)
        return rest >= MT_MIN_BLOCK;
    return wanted->size < allocator->conf.max_split_size && rest > MT_SMALL_SIZE;
}

/* Split the block: its first `size` bytes become a separate block; the rest keeps its state. */
static struct mt_alloc_block *cut(struct mt_allocator *allocator, struct mt_alloc_block *rest,
                                  uint64_t size)
{
    struct mt_alloc_block *block =
        mt_block_new(allocator, rest->side, rest->stream, rest->address, size);
    if (!block)
        return rest;
    block->segment = rest->segment;
    block->before = rest->before;
    if (block->before)
        block->before->after = block;
    block->after = rest;
    rest->before = block;
    rest->address += size;
    rest->size -= size;
    mt_block_put(allocator, rest);
    return block;
}

struct mt_alloc_block *mt_take_found(struct mt_allocator *allocator, struct mt_wanted *wanted,
                                     uint64_t requested)
{
    struct mt_alloc_block *block = wanted->block;
    struct mt_allocator_state *now = &allocator->now;
    bool was_split = mt_block_is_split(block);
    if (must_split(allocator, wanted)) {
        block = cut(allocator, block, wanted->size);
        if (!block->segment)
            now->inactive_split += was_split ? -block->size : block->after ? block->after->size : 0;
    } else if (was_split && !block->segment) {
        now->inactive_split -= block->size;
    }
    block->state = MT_BLOCK_LIVE;
    block->requested = requested;
    block->is_complete = block->is_safe = block->is_held = false;
    now->allocated += block->size;
    now->active += block->size;
    now->requested += requested;
    return block;
}
