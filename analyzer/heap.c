/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"
#include "grow.h"

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
        struct mt_block *block = mt_heap_record(heap, heap->first_free);
        heap->first_free = block->next;
        return block;
    }
    uint32_t index = heap->n_records ? heap->n_records : 1;
    if (index == UINT32_MAX)
        return NULL;
    if (index / MT_HEAP_CHUNK >= heap->n_chunks) {
        if (mt_grow(&heap->chunks, &heap->chunks_capacity, heap->n_chunks + 1,
                    sizeof *heap->chunks))
            return NULL;
        heap->chunks[heap->n_chunks] = calloc(MT_HEAP_CHUNK, sizeof **heap->chunks);
        if (!heap->chunks[heap->n_chunks])
            return NULL;
        heap->n_chunks++;
    }
    heap->n_records = index + 1;
    struct mt_block *block = mt_heap_record(heap, index);
    block->index = index;
    return block;
}

static void give_record(struct mt_heap *heap, struct mt_block *block)
{
    block->state = MT_BLOCK_UNUSED;
    block->next = heap->first_free;
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
    mt_heap_record(heap, last)->pending = block->pending;
    block->pending = 0;
}

static int bring_order(struct mt_heap *heap)
{
    while (heap->n_pending) {
        struct mt_block *block = mt_heap_record(heap, heap->pending[heap->n_pending - 1]);
        if (mt_ordered_put(&heap->ordered, block->address, block->index))
            return -ENOMEM;
        heap->n_pending--;
        block->pending = 0;
    }
    return 0;
}

struct mt_block *mt_heap_add(struct mt_heap *heap, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    struct mt_block *block = take_record(heap);
    if (!block)
        return NULL;
    uint32_t index = block->index;
    *block = heap->none; /* known zeros gcc fills in by `rep stos`, which is slow to begin */
    block->state = MT_BLOCK_LIVE;
    block->index = index;
    block->address = event->arg[0];
    block->size = event->arg[1];
    block->time_ns = event->time_ns;
    block->thread = event->thread;
    block->stack = event->stack;
    block->device = event->device;
    block->moment = heap->memory[slot].moments;
    if (mt_address_map_put(&heap->by_address, block->address, block->index) ||
        await_order(heap, block)) {
        mt_address_map_take(&heap->by_address, block->address);
        give_record(heap, block);
        return NULL;
    }
    heap->total[slot].bytes += block->size;
    heap->total[slot].blocks++;
    return block;
}

struct mt_block *mt_heap_around(struct mt_heap *heap, uint64_t address)
{
    struct mt_block *block = mt_heap_at(heap, address);
    uint32_t index;
    if (block)
        return block;
    if (bring_order(heap) || !mt_ordered_below(&heap->ordered, address, &index))
        return NULL;
    block = mt_heap_record(heap, index);
    return address - block->address < block->size ? block : NULL;
}

void mt_heap_end(struct mt_heap *heap, struct mt_block *block)
{
    unsigned slot = mt_device_slot(block->device);
    heap->total[slot].bytes -= block->size;
    heap->total[slot].blocks--;
    mt_address_map_take(&heap->by_address, block->address);
    leave_order(heap, block);
    if (!mt_heap_is_remembered(heap, block)) {
        give_record(heap, block);
        return;
    }
    block->state = MT_BLOCK_KEPT;
    block->next = heap->memory[slot].first_kept;
    heap->memory[slot].first_kept = block->index;
}

void mt_heap_remember(struct mt_heap *heap, unsigned slot)
{
    uint32_t index = heap->memory[slot].first_kept;
    while (index) {
        struct mt_block *block = mt_heap_record(heap, index);
        index = block->next;
        give_record(heap, block);
    }
    heap->memory[slot].first_kept = 0;
    heap->memory[slot].moments++;
}
