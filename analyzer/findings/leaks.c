/* SPDX-License-Identifier: Apache-2.0 */
#include "leaks.h"

#include <errno.h>

int mt_leaks_find(struct mt_sums *leaks, const struct mt_replay *replay, unsigned slot)
{
    const struct mt_heap *heap = &replay->cuda.heap;
    *leaks = (struct mt_sums){0};
    if (!replay->survey.complete || mt_info(replay->definitions, "torch"))
        return 0;
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (block->state == MT_BLOCK_LIVE && mt_device_slot(block->device) == slot &&
            mt_sums_count(leaks, block->stack, block->size))
            return -ENOMEM;
    }
    mt_sums_sort(leaks);
    return 0;
}
