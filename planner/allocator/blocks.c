/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/support/grow.h"
#include "inside.h"

enum { SLAB_BLOCKS = 256 };

struct mt_alloc_slab {
    struct mt_alloc_slab *next;
    struct mt_alloc_block block[SLAB_BLOCKS];
};

static bool add_slab(struct mt_allocator *allocator)
{
    struct mt_alloc_slab *slab = calloc(1, sizeof(*slab));
    if (!slab) {
        allocator->no_memory = true;
        return false;
    }
    slab->next = allocator->slabs;
    allocator->slabs = slab;
    for (unsigned i = SLAB_BLOCKS; i-- > 0;) {
        slab->block[i].after = allocator->unused;
        allocator->unused = &slab->block[i];
    }
    return true;
}

struct mt_alloc_block *mt_block_new(struct mt_allocator *allocator, struct mt_alloc_side *side,
                                    uint16_t stream, uint64_t address, uint64_t size)
{
    if (!allocator->unused && !add_slab(allocator))
        return NULL;
    struct mt_alloc_block *block = allocator->unused;
    allocator->unused = block->after;
    *block = (struct mt_alloc_block){
        .address = address, .size = size, .side = side, .stream = stream, .number = UINT32_MAX};
    return block;
}

void mt_block_drop(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    block->after = allocator->unused;
    allocator->unused = block;
}

void mt_blocks_destroy(struct mt_allocator *allocator)
{
    while (allocator->slabs) {
        struct mt_alloc_slab *slab = allocator->slabs;
        allocator->slabs = slab->next;
        for (unsigned i = 0; i < SLAB_BLOCKS; i++)
            mt_drop_uses(&slab->block[i]);
        free(slab);
    }
}

bool mt_block_list_add(struct mt_allocator *allocator, struct mt_block_list *list,
                       struct mt_alloc_block *block)
{
    if (MT_GROW(list->block, list->room, list->count)) {
        allocator->no_memory = true;
        return false;
    }
    list->block[list->count++] = block;
    return true;
}

void mt_block_list_clear(struct mt_block_list *list)
{
    free(list->block);
    *list = (struct mt_block_list){0};
}

struct mt_alloc_stream *mt_side_stream(struct mt_allocator *allocator, struct mt_alloc_side *side,
                                       uint16_t stream)
{
    if (stream >= side->n_streams) {
        unsigned count = stream + 1U;
        struct mt_alloc_stream *bigger = realloc(side->stream, count * sizeof(*bigger));
        if (!bigger) {
            allocator->no_memory = true;
            return NULL;
        }
        memset(&bigger[side->n_streams], 0, (count - side->n_streams) * sizeof(*bigger));
        side->stream = bigger;
        side->n_streams = count;
    }
    return &side->stream[stream];
}

void mt_block_put(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    struct mt_alloc_stream *stream = mt_side_stream(allocator, block->side, block->stream);
    bool is_free = block->state == MT_BLOCK_FREE;
    if (!stream)
        return;
    block->age_base = block->side->searches;
    if (!mt_free_set_put(is_free ? &stream->free : &stream->unmapped,
                         (struct mt_free_key){is_free ? block->size : 0, block->address}, block))
        allocator->no_memory = true;
}

void mt_block_take(struct mt_alloc_block *block)
{
    struct mt_alloc_stream *stream = &block->side->stream[block->stream];
    if (block->state == MT_BLOCK_FREE)
        mt_free_set_take(&stream->free, (struct mt_free_key){block->size, block->address});
    else
        mt_free_set_take(&stream->unmapped, (struct mt_free_key){0, block->address});
}

uint64_t mt_block_join(struct mt_allocator *allocator, struct mt_alloc_block *block,
                       struct mt_alloc_block *other)
{
    if (!other || other->state != block->state)
        return 0;
    mt_block_take(other);
    if (block->before == other) {
        block->address = other->address;
        block->before = other->before;
        if (block->before)
            block->before->after = block;
    } else {
        block->after = other->after;
        if (block->after)
            block->after->before = block;
    }
    uint64_t size = other->size;
    block->size += size;
    mt_block_drop(allocator, other);
    return size;
}

void mt_block_free(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    struct mt_allocator_state *now = &allocator->now;
    now->active -= block->size;
    now->requested -= block->requested;
    if (block->number < allocator->n_blocks && allocator->block[block->number] == block)
        allocator->block[block->number] = NULL;
    block->state = MT_BLOCK_FREE;
    uint64_t joined = mt_block_join(allocator, block, block->before);
    joined += mt_block_join(allocator, block, block->after);
    mt_block_put(allocator, block);
    if (block->segment)
        return;
    if (mt_block_is_split(block))
        now->inactive_split += block->size - joined;
    else
        now->inactive_split -= joined;
}

void mt_drop_uses(struct mt_alloc_block *block)
{
    while (block->uses) {
        struct mt_stream_use *use = block->uses;
        block->uses = use->next;
        free(use);
    }
}
