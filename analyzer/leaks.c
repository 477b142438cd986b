/* SPDX-License-Identifier: Apache-2.0 */
#include "leaks.h"
#include "grow.h"

int mt_leaks_find(struct mt_leaks *leaks, const struct mt_replay *replay, unsigned slot,
                  const struct mt_rule_context *context)
{
    const struct mt_heap *heap = &replay->cuda.heap;
    struct mt_verdict *verdicts = NULL;
    size_t n = 0, capacity = 0;
    *leaks = (struct mt_leaks){0};
    if (!replay->survey.complete || mt_info(replay->definitions, "torch"))
        return 0;
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (block->state != MT_BLOCK_LIVE || mt_device_slot(block->device) != slot)
            continue;
        if (mt_grow(&verdicts, &capacity, n + 1, sizeof *verdicts)) {
            free(verdicts);
            return -ENOMEM;
        }
        verdicts[n++] = (struct mt_verdict){block, mt_classify(context, block)};
        leaks->bytes += block->size;
        leaks->blocks++;
    }
    int rc = mt_sites_collect(&leaks->sites, replay->definitions, verdicts, n);
    free(verdicts);
    return rc;
}

void mt_leaks_clear(struct mt_leaks *leaks)
{
    mt_sites_clear(&leaks->sites);
}
