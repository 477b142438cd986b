/* SPDX-License-Identifier: Apache-2.0 */
/* The replay of CUDA's own memory. */
#include "replay-cuda.h"
#include "analyzer/trace/survey.h"
#include "replay-parts.h"

#include <errno.h>

/* Note how much a capture adds to CUDA's total. A server empties PyTorch's cache first. */
static void note_capture(struct mt_graph_memory *graphs, uint8_t turn, uint64_t before,
                         uint64_t bytes)
{
    if (graphs->turn != turn)
        graphs->lowest = before;
    graphs->turn = turn;
    if (bytes < graphs->lowest)
        graphs->lowest = bytes;
    graphs->captured = bytes - graphs->lowest;
}

/* Note CUDA's total, whose peak counts if PyTorch does not use the device. */
static int note_cuda_total(struct mt_replay *replay, const struct mt_event *event, unsigned slot)
{
    struct mt_totals *now = &replay->of_cuda.now[slot];
    uint64_t bytes = replay->cuda.heap.total[slot].bytes;
    if (replay->tracker.phases.now.serving == MT_SERVING_CAPTURE)
        note_capture(&replay->reserved.graphs[slot], replay->tracker.phases.now.turn,
                     now->cuda_bytes, bytes);
    *now = (struct mt_totals){.when = replay->tracker.phases.now,
                              .range = mt_tracker_range(&replay->tracker, event->thread),
                              .event = replay->events,
                              .time_ns = event->time_ns,
                              .allocated = bytes,
                              .known_bytes = bytes,
                              .cuda_bytes = bytes};
    if (bytes && mt_is_new_peak(&replay->of_cuda.peak[slot], bytes)) {
        replay->of_cuda.peak[slot] = *now;
        if ((replay->question.moment.kind == MT_AT_PEAK ||
             replay->question.moment.kind == MT_AT_RESERVED) &&
            mt_replay_is_of_cuda(replay, slot))
            mt_replay_take_device(replay, slot);
    }
    return mt_replay_is_of_cuda(replay, slot) ? mt_replay_note(replay, slot, now) : 0;
}

static int reach(struct mt_replay *replay, unsigned slot)
{
    return mt_replay_is_of_cuda(replay, slot)
               ? mt_replay_reach(replay, slot, replay->cuda.heap.total[slot].bytes)
               : 0;
}

struct ending {
    struct mt_replay *replay;
    unsigned slot; /* of the block that ends */
};

static bool is_of_graph(const struct mt_replay *replay, const struct mt_block *block)
{
    return block->range &&
           mt_range_is_of_graph(replay->definitions, &replay->tracker.ranges, block->range);
}

static void note_graph(struct mt_graph_memory *graphs, uint64_t bytes)
{
    graphs->now += bytes;
    if (graphs->now > graphs->most)
        graphs->most = graphs->now;
}

/* Return whether an event ends a block. A free gets its block's device, since any device may be
 * current at the call. In a damaged trace, an allocation may also be at the address of another
 * device's block. */
static int ends(void *data, struct mt_block *block)
{
    struct ending *ending = data;
    struct mt_replay *replay = ending->replay;
    ending->slot = mt_device_slot(block->device);
    if (block->api != MT_API_CU_MEM_CREATE && mt_replay_segment_ends(replay, block))
        return -ENOMEM;
    if (is_of_graph(replay, block))
        replay->reserved.graphs[ending->slot].now -= block->size;
    else
        mt_cuda_pools_block(&replay->cuda_pools, block, false);
    if (!mt_replay_is_of_cuda(replay, ending->slot))
        return 0;
    if (mt_heap_is_remembered(&replay->cuda.heap, block) &&
        mt_ends_note(&replay->holders.of_cuda, mt_heap_index(&replay->cuda.heap, block),
                     replay->time_ns))
        return -ENOMEM;
    return reach(replay, ending->slot) ? -ENOMEM : mt_replay_conclude(replay, block, 0);
}

static int one_event(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    struct ending ending = {replay, slot};
    struct mt_cuda_change change = {.ends = ends, .data = &ending};
    int rc = reach(replay, slot);
    if (!replay->present.is_before)
        mt_cuda_pools_request(&replay->cuda_pools, event);
    if (!rc)
        rc = mt_cuda_event(&replay->cuda, event, &change);
    unsigned old = ending.slot;
    struct mt_block *block = rc || event->kind == MT_CUDA_FREE_FAILED ? NULL : change.made;
    if (block && !replay->present.is_before)
        block->range = mt_tracker_range(&replay->tracker, event->thread);
    if (block && replay->of_cuda_blocks.n && /* not that of an earlier block */
        mt_block_requests_set(&replay->of_cuda_blocks, mt_heap_index(&replay->cuda.heap, block),
                              (struct mt_block_request){0}))
        return -ENOMEM;
    if (block && replay->present.thread && !replay->present.is_before)
        mt_tracker_note_node(&replay->tracker, replay->present.thread, block);
    if (block && is_of_graph(replay, block))
        note_graph(&replay->reserved.graphs[slot], block->size);
    else if (!rc && change.made)
        mt_cuda_pools_block(&replay->cuda_pools, change.made, true);
    if (event->kind == MT_CUDA_FREE_FAILED && !rc) {
        struct mt_block *again = mt_heap_at(&replay->cuda.heap, event->address);
        if (again && !mt_block_event(again))
            rc = mt_block_set_event(again, replay->events);
    }
    if (block && mt_replay_is_of_cuda(replay, slot)) {
        mt_birth_drop(block->birth); /* the heap's */
        block->birth = NULL;
        rc = mt_replay_begin_life(replay, block, event);
        mt_ooms_went_on(&replay->ooms);
    }
    if (!rc)
        rc = note_cuda_total(replay, event, old);
    if (!rc && old != slot)
        rc = note_cuda_total(replay, event, slot);
    if (rc || !mt_cuda_is_oom(event))
        return rc;
    if (mt_replay_is_of_cuda(replay, slot))
        mt_replay_add_oom(replay, &(struct mt_oom){.time_ns = event->time_ns,
                                                   .wanted = event->size,
                                                   .allocated = replay->of_cuda.now[slot].allocated,
                                                   .reserved = replay->of_cuda.now[slot].allocated,
                                                   .stack = event->stack,
                                                   .device = event->device,
                                                   .of_cuda = 1});
    else if (mt_is_of_library(replay->definitions, event->stack))
        rc = mt_replay_library_oom(replay, event);
    return rc;
}

int mt_replay_cuda_request(struct mt_replay *replay, const struct mt_event *event)
{
    const struct mt_heap *heap = &replay->cuda.heap;
    const struct mt_block *block = mt_heap_at(heap, event->address);
    uint64_t unused = block ? block->size - event->HOST_REQUEST.requested : 0;
    if (!block || event->HOST_REQUEST.requested > block->size || unused > UINT32_MAX)
        return 0;
    return mt_block_requests_set(&replay->of_cuda_blocks, mt_heap_index(heap, block),
                                 (struct mt_block_request){.unused = (uint32_t)unused});
}

/* Replay an allocation from before the recording, unless its memory is known since. */
static int from_before(struct mt_replay *replay, const struct mt_event *event)
{
    if (mt_heap_at(&replay->cuda.heap, event->address)) {
        replay->present.is_before = false; /* for the watcher */
        return 0;
    }
    return one_event(replay, event) || mt_replay_segment_from_before(replay, event) ? -ENOMEM : 0;
}

/* Replay a CUDA call. An unmap may cover several pieces, each of which may end a block. */
int mt_replay_cuda(struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_event left = *event;
    uint64_t size;
    int rc = 0;
    replay->reserved.has_grown |= event->kind == MT_CUDA_MALLOC || event->kind == MT_CUDA_MAP;
    if (replay->present.is_before)
        return from_before(replay, event);
    if (event->kind != MT_CUDA_UNMAP)
        return one_event(replay, event);
    while (!rc && (size = mt_cuda_piece(&replay->cuda, &left))) {
        struct mt_event piece = left;
        piece.size = size;
        rc = mt_replay_segment_ends(replay, mt_heap_at(&replay->cuda.mapped, left.address));
        if (!rc)
            rc = one_event(replay, &piece);
        left.address += size;
        left.size -= size;
    }
    return rc;
}
