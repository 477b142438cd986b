/* SPDX-License-Identifier: Apache-2.0 */
/* Keep the blocks of a device's peak. */
#include "live-parts.h"

#include <stdlib.h>

void mt_live_free_block(struct mt_live_block *block)
{
    if (block) {
        free(block->note);
        free(block->physical);
    }
    free(block);
}

void mt_live_forget_gone(struct mt_live *live, unsigned slot)
{
    for (struct mt_live_block *block = live->total[slot].gone, *next; block; block = next) {
        next = block->next;
        mt_live_free_block(block);
    }
    live->total[slot].gone = NULL;
}

void mt_live_keep_gone(struct mt_live *live, struct mt_live_block *block,
                       const struct mt_event *event)
{
    unsigned slot = mt_live_device_slot(block->made.device);
    block->free_ns = event->time_ns;
    block->free_thread = event->thread;
    block->free_stack = event->stack;
    block->next = live->total[slot].gone;
    live->total[slot].gone = block;
}

void mt_live_keep_peak(struct mt_live *live, const struct mt_event *event)
{
    unsigned slot = mt_live_device_slot(event->device);
    mt_live_forget_gone(live, slot);
    live->total[slot].peak = *event;
    for (size_t i = 0; i <= live->by_address.mask; i++)
        for (struct mt_live_block *block = live->by_address.bucket[i]; block; block = block->next)
            block->is_at_peak |=
                block->sort == MT_ALLOC && mt_live_device_slot(block->made.device) == slot;
}
