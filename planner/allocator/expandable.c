/* SPDX-License-Identifier: Apache-2.0 */
/* Expandable segments: address ranges larger than the card, with memory mapped behind parts of
 * them. */
#include "analyzer/support/to-integer.h"
#include "inside.h"

/* Return a handle's size. Memory is mapped in handles of this size. */
static uint64_t handle_size(const struct mt_allocator *allocator, const struct mt_alloc_side *side)
{
    return side->is_small ? MT_SMALL_SEGMENT : allocator->conf.large_segment_size;
}

static bool can_be_had(const struct mt_alloc_block *block)
{
    return block && (block->state == MT_BLOCK_FREE || block->state == MT_BLOCK_UNMAPPED);
}

static bool has_addresses(const struct mt_alloc_block *block, uint64_t size)
{
    uint64_t bytes = 0;
    for (; bytes < size && can_be_had(block); block = block->after)
        bytes += block->size;
    return bytes >= size;
}

/* Return the size of a new segment's addresses: whole handles. */
static uint64_t addresses_of(const struct mt_allocator *allocator, const struct mt_alloc_side *side)
{
    const struct mt_alloc_conf *conf = &allocator->conf;
    uint64_t handle = handle_size(allocator, side), usual = allocator->total + allocator->total / 8;
    uint64_t size = conf->expandable_reserve;
    if (conf->expandable_reserve_fraction > 0)
        size = mt_to_uint64(conf->expandable_reserve_fraction * (double)allocator->total);
    size = size < usual ? size : usual;
    return (size + handle - 1) / handle * handle;
}

static struct mt_alloc_block *new_segment(struct mt_allocator *allocator,
                                          const struct mt_wanted *wanted)
{
    uint64_t size = addresses_of(allocator, wanted->side);
    struct mt_alloc_block *block;
    if (wanted->size > size) /* with expandable_segments_reserve, one block has one segment */
        return NULL;
    block = mt_block_new(allocator, wanted->side, wanted->stream, allocator->next_expandable, size);
    if (!block)
        return NULL;
    allocator->next_expandable += size;
    block->segment = block->address;
    block->state = MT_BLOCK_UNMAPPED;
    mt_block_put(allocator, block);
    return block;
}

/* Find the lowest addresses, free or unmapped, with enough room, or add a segment. */
static struct mt_alloc_block *find_addresses(struct mt_allocator *allocator,
                                             const struct mt_wanted *wanted)
{
    struct mt_alloc_stream *stream = mt_side_stream(allocator, wanted->side, wanted->stream);
    struct mt_free_at at = {0, 0};
    struct mt_alloc_block *block;
    if (!stream)
        return NULL;
    for (; (block = mt_free_set_block(&stream->unmapped, at));
         at = mt_free_set_next(&stream->unmapped, at)) {
        if (can_be_had(block->before))
            block = block->before;
        if (has_addresses(block, wanted->size))
            return block;
    }
    return new_segment(allocator, wanted);
}

/* Map handles behind the first `size` bytes of an unmapped block, and merge it with adjacent free
 * memory. */
static bool map(struct mt_allocator *allocator, struct mt_alloc_block *block, uint64_t size)
{
    uint64_t handle = handle_size(allocator, block->side);
    uint64_t bytes = (size + handle - 1) / handle * handle;
    if (bytes > mt_card_free(allocator))
        return false;
    mt_block_take(block);
    block->state = MT_BLOCK_FREE;
    if (bytes < block->size) {
        struct mt_alloc_block *rest = mt_block_new(allocator, block->side, block->stream,
                                                   block->address + bytes, block->size - bytes);
        if (!rest)
            return false;
        rest->segment = block->segment;
        rest->state = MT_BLOCK_UNMAPPED;
        rest->before = block;
        rest->after = block->after;
        if (rest->after)
            rest->after->before = rest;
        block->after = rest;
        block->size = bytes;
        mt_block_put(allocator, rest);
    }
    mt_block_join(allocator, block, block->before);
    mt_block_join(allocator, block, block->after);
    mt_block_put(allocator, block);
    allocator->held += bytes;
    allocator->now.reserved += bytes;
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool mt_find_expandable(struct mt_allocator *allocator, struct mt_wanted *wanted)
{
    struct mt_alloc_block *block = find_addresses(allocator, wanted);
    if (!block)
        return false;
    if (block->state == MT_BLOCK_UNMAPPED &&
        !map(allocator, block, least(block->size, wanted->size)))
        return false;
    while (block->size < wanted->size) {
        struct mt_alloc_block *next = block->after;
        if (!next || !map(allocator, next, least(wanted->size - block->size, next->size)))
            return false;
        block = next;
    }
    mt_block_take(block);
    wanted->block = block;
    return true;
}

/* Unmap the whole handles of a free block. Its partial handles stay free, next to the unmapped
 * part. */
static void keep_free(struct mt_allocator *allocator, struct mt_alloc_block *block, bool behind,
                      uint64_t size)
{
    uint64_t address = behind ? block->address + block->size : block->address - size;
    struct mt_alloc_block *part =
        size ? mt_block_new(allocator, block->side, block->stream, address, size) : NULL;
    if (!part)
        return;
    part->segment = block->segment;
    part->before = behind ? block : block->before;
    part->after = behind ? block->after : block;
    if (part->before)
        part->before->after = part;
    if (part->after)
        part->after->before = part;
    mt_block_put(allocator, part);
}

void mt_unmap_free(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    uint64_t handle = handle_size(allocator, block->side), start = block->segment;
    uint64_t from = block->address - start, to = from + block->size;
    uint64_t first = (from + handle - 1) / handle * handle, end = to / handle * handle;
    if (first >= end)
        return;
    mt_block_take(block);
    block->address = start + first;
    block->size = end - first;
    keep_free(allocator, block, false, first - from);
    keep_free(allocator, block, true, to - end);
    block->state = MT_BLOCK_UNMAPPED;
    mt_block_join(allocator, block, block->before);
    mt_block_join(allocator, block, block->after);
    mt_block_put(allocator, block);
    allocator->held -= end - first;
    allocator->now.reserved -= end - first;
    block->side->pool->segments--;
    if (mt_block_is_split(block))
        return;
    mt_block_take(block);
    mt_block_drop(allocator, block);
}
