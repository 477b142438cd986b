/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-level.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>

/* Note an import. A process that opens the same memory several times gets one address. */
static int on_import(struct mt_heap *heap, const struct mt_event *event)
{
    if (!event->address || mt_heap_at(heap, event->address))
        return 1;
    struct mt_block *block = mt_heap_add(heap, event);
    if (!block)
        return -ENOMEM;
    block->api = (uint8_t)event->CUDA_MALLOC.api;
    return 1;
}

int mt_imported_event(struct mt_heap *heap, const struct mt_event *event)
{
    struct mt_block *block;
    switch (event->kind) {
    case MT_CUDA_MALLOC:
        if (mt_cuda_api_space(event->CUDA_MALLOC.api) == MT_SPACE_IMPORTED &&
            event->CUDA_MALLOC.api != MT_API_CU_MEM_RETAIN)
            return on_import(heap, event);
        return 0;
    case MT_CUDA_FREE:
        block = mt_heap_at(heap, event->address);
        if (block)
            mt_heap_end(heap, block);
        return block != NULL;
    }
    return 0;
}

struct mt_imported mt_imported_find(const struct mt_heap *heap, unsigned slot)
{
    struct mt_imported found = {0};
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (!mt_heap_is_remembered(heap, block) || mt_device_slot(block->device) != slot)
            continue;
        found.bytes += block->size;
        found.blocks++;
        found.unsized += !block->size;
    }
    return found;
}
