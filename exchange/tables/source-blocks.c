/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that were live at a moment, with the categories that reports give them. */
#include "analyzer/findings/filtered.h"
#include "source.h"

#include <errno.h>
#include <stdlib.h>

static int by_address(const void *address, const void *verdict)
{
    uint64_t one = *(const uint64_t *)address;
    uint64_t other = ((const struct mt_verdict *)verdict)->block->address;
    return (one > other) - (one < other);
}

/* Return the place of the device's verdict on a block; n_verdicts: it has none. */
static size_t place_of(const struct mt_device *device, const struct mt_block *block)
{
    const struct mt_verdict *found = bsearch(&block->address, device->verdicts, device->n_verdicts,
                                             sizeof *device->verdicts, by_address);
    return found && found->block == block ? (size_t)(found - device->verdicts) : device->n_verdicts;
}

/* Find each verdict's end, by way of the records, whose numbers a kept block does not know. 0 or
 * -ENOMEM. */
static int begin_device(struct mt_moment_rows *self, const struct mt_device *device)
{
    const struct mt_replay *replay = &self->analysis.replay;
    const struct mt_heap *heap = device->of_cuda ? &replay->cuda.heap : &replay->blocks;
    const struct mt_block_ends *ends = &self->ends[device->of_cuda];
    free(self->end_of);
    free(self->shown);
    self->end_of = calloc(device->n_verdicts + 1, sizeof *self->end_of);
    self->shown =
        mt_filtered_rows(device, &replay->question.filter, replay->definitions, &self->n_shown);
    if (!self->end_of || !self->shown)
        return -ENOMEM;
    for (uint32_t i = 1; i < heap->n_records && i < ends->capacity; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (mt_heap_is_remembered(heap, block))
            self->end_of[place_of(device, block)] = ends->end[i];
    }
    return 0;
}

static int put_blocks(struct mt_moment_rows *self, struct mt_columns *columns)
{
    for (; self->device < self->analysis.n_devices; self->device++, self->next = 0) {
        const struct mt_device *device = &self->analysis.devices[self->device];
        if (!self->next && begin_device(self, device))
            return -ENOMEM;
        for (; self->next < self->n_shown; self->next++) {
            if (mt_columns_are_full(columns))
                return 1;
            const struct mt_verdict *verdict = &self->shown[self->next];
            const struct mt_block_end *end = &self->end_of[place_of(device, verdict->block)];
            mt_rows_put_block(&self->rows, columns,
                              &(struct mt_block_row){.replay = &self->analysis.replay,
                                                     .verdict = verdict,
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

int mt_rows_blocks(struct mt_rows **out, const char *path, struct mt_trace_error *error)
{
    (void)path, (void)error;
    return mt_moment_rows_make(out, put_blocks);
}
