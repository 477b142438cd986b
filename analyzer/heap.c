/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"
#include "grow.h"

#define CHUNK 4096u

static struct mt_block *block_at(const struct mt_heap *heap, uint32_t index)
{
    return &heap->chunks[index / CHUNK][index % CHUNK];
}

void mt_heap_clear(struct mt_heap *heap)
{
    for (size_t i = 0; i < heap->n_chunks; i++)
        free(heap->chunks[i]);
    free(heap->chunks);
    free(heap->pending);
    mt_address_map_clear(&heap->by_address);
    mt_ordered_clear(&heap->ordered);
    memset(heap, 0, sizeof *heap);
}

/* A record that is not in use; its contents are old. */
static struct mt_block *take_record(struct mt_heap *heap)
{
    if (heap->first_free) {
        struct mt_block *block = block_at(heap, heap->first_free);
        heap->first_free = block->next_free;
        return block;
    }
    uint32_t index = heap->n_blocks ? heap->n_blocks : 1;
    if (index == UINT32_MAX)
        return NULL;
    if (index / CHUNK >= heap->n_chunks) {
        if (mt_grow(&heap->chunks, &heap->chunks_capacity, heap->n_chunks + 1,
                    sizeof *heap->chunks))
            return NULL;
        heap->chunks[heap->n_chunks] = calloc(CHUNK, sizeof **heap->chunks);
        if (!heap->chunks[heap->n_chunks])
            return NULL;
        heap->n_chunks++;
    }
    heap->n_blocks = index + 1;
    struct mt_block *block = block_at(heap, index);
    block->index = index;
    return block;
}

static void give_record(struct mt_heap *heap, struct mt_block *block)
{
    block->next_free = heap->first_free;
    heap->first_free = block->index;
}

/* Notes that the block is not yet in heap->ordered. */
static int await_order(struct mt_heap *heap, struct mt_block *block)
{
    if (mt_grow(&heap->pending, &heap->pending_capacity, heap->n_pending + 1,
                sizeof *heap->pending))
        return -ENOMEM;
    heap->pending[heap->n_pending++] = block->index;
    block->pending = (uint32_t)heap->n_pending;
    return 0;
}

static void leave_order(struct mt_heap *heap, struct mt_block *block)
{
    if (!block->pending) {
        mt_ordered_remove(&heap->ordered, block->address);
        return;
    }
    uint32_t last = heap->pending[--heap->n_pending];
    heap->pending[block->pending - 1] = last;
    block_at(heap, last)->pending = block->pending;
    block->pending = 0;
}

static int bring_order(struct mt_heap *heap)
{
    while (heap->n_pending) {
        struct mt_block *block = block_at(heap, heap->pending[heap->n_pending - 1]);
        if (mt_ordered_put(&heap->ordered, block->address, block->index))
            return -ENOMEM;
        heap->n_pending--;
        block->pending = 0;
    }
    return 0;
}

struct mt_block *mt_heap_add(struct mt_heap *heap, const struct mt_event *event)
{
    struct mt_block *block = take_record(heap);
    if (!block)
        return NULL;
    *block = (struct mt_block){.address = event->arg[0],
                               .size = event->arg[1],
                               .time_ns = event->time_ns,
                               .thread = event->thread,
                               .stack = event->stack,
                               .device = event->device,
                               .live = 1,
                               .index = block->index,
                               .references = 1};
    if (mt_address_map_put(&heap->by_address, block->address, block->index) ||
        await_order(heap, block)) {
        mt_address_map_take(&heap->by_address, block->address);
        block->live = 0;
        give_record(heap, block);
        return NULL;
    }
    struct mt_heap_total *total = &heap->total[mt_device_slot(block->device)];
    total->bytes += block->size;
    total->blocks++;
    return block;
}

struct mt_block *mt_heap_at(const struct mt_heap *heap, uint64_t address)
{
    uint32_t index = mt_address_map_get(&heap->by_address, address);
    return index ? block_at(heap, index) : NULL;
}

struct mt_block *mt_heap_around(struct mt_heap *heap, uint64_t address)
{
    struct mt_block *block = mt_heap_at(heap, address);
    uint32_t index;
    if (block)
        return block;
    if (bring_order(heap) || !mt_ordered_below(&heap->ordered, address, &index))
        return NULL;
    block = block_at(heap, index);
    return address - block->address < block->size ? block : NULL;
}

void mt_heap_remove(struct mt_heap *heap, struct mt_block *block)
{
    struct mt_heap_total *total = &heap->total[mt_device_slot(block->device)];
    total->bytes -= block->size;
    total->blocks--;
    mt_address_map_take(&heap->by_address, block->address);
    leave_order(heap, block);
    block->live = 0;
}

void mt_heap_hold(struct mt_block *block)
{
    block->references++;
}

void mt_heap_release(struct mt_heap *heap, struct mt_block *block)
{
    if (--block->references == 0)
        give_record(heap, block);
}

struct mt_block *mt_heap_live(const struct mt_heap *heap, uint32_t index)
{
    struct mt_block *block = block_at(heap, index);
    return block->live ? block : NULL;
}
