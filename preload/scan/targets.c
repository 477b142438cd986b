/* SPDX-License-Identifier: Apache-2.0 */
#include "targets.h"
#include "bits.h"
#include "by-address.h"
#include "preload/host/memory.h"

#define FILTER_BITS 20

static void note_in_filter(struct mt_targets *targets, const struct mt_pointed_range *target)
{
    uint64_t low = targets->all.low, last = (target->end - 1 - low) >> targets->shift;
    for (uint64_t i = (target->begin - low) >> targets->shift; i <= last; i++)
        mt_bit_set(targets->filter, i);
}

struct mt_targets *mt_targets_create(const struct mt_pointed *blocks, uint32_t n)
{
    struct mt_targets *targets = mt_map(sizeof *targets + n * sizeof *targets->target);
    uint64_t high = 0;
    if (!targets || !(targets->filter = mt_map((size_t)1 << (FILTER_BITS - 3))))
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t end = blocks[i].address + blocks[i].size;
        targets->target[i] = (struct mt_pointed_range){blocks[i].address, end, i};
        high = end > high ? end : high;
    }
    mt_sort_by_address(targets->target, n, sizeof *targets->target);
    targets->n = n;
    targets->all.low = n ? targets->target[0].begin : 0;
    targets->all.span = high - targets->all.low;
    for (targets->shift = 4; targets->all.span >> targets->shift >= UINT64_C(1) << FILTER_BITS;
         targets->shift++) {
    }
    for (uint32_t i = 0; i < n; i++)
        note_in_filter(targets, &targets->target[i]);
    return targets;
}

uint32_t mt_target_with(const struct mt_targets *targets, uint64_t address)
{
    uint64_t offset = address - targets->all.low, bit = offset >> targets->shift;
    uint32_t low = 0, high = targets->n;
    if (offset >= targets->all.span || !mt_bit_has(targets->filter, bit))
        return MT_NO_TARGET;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (targets->target[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < targets->target[low - 1].end ? targets->target[low - 1].block
                                                         : MT_NO_TARGET;
}
