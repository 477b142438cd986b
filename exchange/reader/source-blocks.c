/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that were live at a moment, with the categories that reports give them. */
#include "source.h"

#include <errno.h>
#include <stdlib.h>

static const struct mt_verdict *verdict_at(const struct mt_device *device, uint64_t address)
{
    size_t from = 0, to = device->n_verdicts;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (device->verdicts[middle].block->address < address)
            from = middle + 1;
        else
            to = middle;
    }
    return from < device->n_verdicts ? &device->verdicts[from] : NULL;
}

/* Each verdict's end, by way of the records, whose numbers a kept block does not know. 0 or
 * -ENOMEM. */
static int find_ends(struct mt_moment_source *self, const struct mt_device *device)
{
    const struct mt_replay *replay = &self->analysis.replay;
    const struct mt_heap *heap = device->of_cuda ? &replay->cuda.heap : &replay->blocks;
    const struct mt_block_ends *ends = &self->ends[device->of_cuda];
    free(self->end_of);
    self->end_of = calloc(device->n_verdicts + 1, sizeof *self->end_of);
    if (!self->end_of)
        return -ENOMEM;
    for (uint32_t i = 1; i < heap->n_records && i < ends->capacity; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (!mt_heap_is_remembered(heap, block))
            continue;
        const struct mt_verdict *verdict = verdict_at(device, block->address);
        if (verdict && verdict->block == block)
            self->end_of[verdict - device->verdicts] = ends->end[i];
    }
    return 0;
}

static int put_blocks(struct mt_moment_source *self, struct mt_columns *columns)
{
    for (; self->device < self->analysis.n_devices; self->device++, self->next = 0) {
        const struct mt_device *device = &self->analysis.devices[self->device];
        if (!self->next && find_ends(self, device))
            return -ENOMEM;
        for (; self->next < device->n_verdicts; self->next++) {
            if (mt_columns_are_full(columns))
                return 1;
            const struct mt_block_end *end = &self->end_of[self->next];
            mt_row_source_put_block(&self->rows, columns,
                                    &(struct mt_block_row){.replay = &self->analysis.replay,
                                                           .verdict = &device->verdicts[self->next],
                                                           .spans = device->spans,
                                                           .of_cuda = device->of_cuda,
                                                           .at = device,
                                                           .has_end = end->event != 0,
                                                           .end_ns = end->time_ns,
                                                           .end_event = end->event});
        }
    }
    return 0;
}

int mt_row_source_blocks(struct mt_row_source **out, const char *path, struct mt_trace_error *error)
{
    (void)path, (void)error;
    return mt_moment_source_make(out, put_blocks);
}
