/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"
#include "analyzer/support/grow.h"

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

struct mt_block *mt_heap_new_record(struct mt_heap *heap)
{
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

struct mt_block *mt_heap_within(struct mt_heap *heap, uint64_t address)
{
    uint32_t index;
    if (bring_order(heap) || !mt_ordered_below(&heap->ordered, address, &index))
        return NULL;
    struct mt_block *block = mt_heap_record(heap, index);
    return address - block->address < block->size ? block : NULL;
}

void mt_heap_remember(struct mt_heap *heap, unsigned slot)
{
    uint32_t index = heap->memory[slot].first_kept;
    while (index) {
        struct mt_block *block = mt_heap_record(heap, index);
        index = block->next;
        mt_heap_give_record(heap, block);
    }
    heap->memory[slot].first_kept = 0;
    heap->memory[slot].moments++;
}
