/* SPDX-License-Identifier: Apache-2.0 */
/* The replay's part about memory that CUDA itself hands out. */
#include "replay-parts.h"

#include <errno.h>

#define CUDA_OUT_OF_MEMORY 2u /* the runtime's and the driver's number alike */

/* CUDA's peak counts where PyTorch has none. */
static int see_cuda_total(struct mt_replay *replay, unsigned slot, uint32_t thread)
{
    struct mt_totals *now = &replay->cuda_now[slot];
    uint64_t bytes = replay->cuda.heap.total[slot].bytes;
    *now = (struct mt_totals){.when = replay->tracker.now,
                              .range = mt_tracker_range(&replay->tracker, thread),
                              .event = replay->events,
                              .time_ns = replay->time_ns,
                              .allocated = bytes,
                              .known_bytes = bytes,
                              .cuda_bytes = bytes};
    if (bytes && mt_is_new_peak(&replay->cuda_peak[slot], bytes)) {
        replay->cuda_peak[slot] = *now;
        if (replay->question.moment.kind == MT_AT_PEAK && mt_replay_is_of_cuda(replay, slot))
            mt_replay_take_device(replay, slot);
    }
    return mt_replay_is_of_cuda(replay, slot) ? mt_replay_see(replay, slot, now) : 0;
}

static int out_of_memory(const struct mt_event *event)
{
    return event->kind == MT_CUDA_MALLOC && event->arg[2] == CUDA_OUT_OF_MEMORY;
}

static int reach(struct mt_replay *replay, unsigned slot)
{
    return mt_replay_is_of_cuda(replay, slot)
               ? mt_timeline_reach(&replay->timeline[slot], replay->time_ns)
               : 0;
}

/* The device of a free is its block's: the call may be made with another one current. So may an
 * allocation be at the address of another device's block, in a damaged trace. */
static int ending(void *data, struct mt_block *block)
{
    struct mt_replay *replay = data;
    unsigned slot = mt_device_slot(block->device);
    if (reach(replay, slot))
        return -ENOMEM;
    if (mt_replay_is_of_cuda(replay, slot))
        mt_replay_conclude(replay, block, 0);
    return 0;
}

static int ended(void *data, unsigned slot, uint32_t thread)
{
    return see_cuda_total(data, slot, thread);
}

void mt_replay_cuda_begin(struct mt_replay *replay)
{
    replay->cuda.ending = ending;
    replay->cuda.ended = ended;
    replay->cuda.data = replay;
}

int mt_replay_cuda(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    int rc = reach(replay, slot);
    if (!rc)
        rc = mt_cuda_event(&replay->cuda, event);
    struct mt_block *block = rc ? NULL : mt_cuda_made(&replay->cuda, event);
    if (block && mt_replay_is_of_cuda(replay, slot)) {
        rc = mt_replay_begin_life(replay, block);
        mt_replay_went_on(replay);
    }
    if (!rc)
        rc = see_cuda_total(replay, slot, event->thread);
    if (out_of_memory(event) && mt_replay_is_of_cuda(replay, slot))
        mt_replay_add_oom(replay, &(struct mt_oom){.time_ns = event->time_ns,
                                                   .wanted = event->arg[1],
                                                   .allocated = replay->cuda_now[slot].allocated,
                                                   .reserved = replay->cuda_now[slot].allocated,
                                                   .stack = event->stack,
                                                   .device = event->device,
                                                   .of_cuda = 1});
    return rc;
}
