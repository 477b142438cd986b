/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"
#include "scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pass {
    struct mt_replay *replay;
    const struct mt_survey *survey;
    uint64_t next_peak; /* event number of the next snapshot, UINT64_MAX: none is left */
};

const struct mt_peak *mt_survey_peak(const struct mt_survey *survey, unsigned slot, int *of_cuda)
{
    *of_cuda = survey->pytorch[slot].event == 0;
    return *of_cuda ? &survey->cuda[slot] : &survey->pytorch[slot];
}

static void find_next_peak(struct pass *pass)
{
    int of_cuda;
    pass->next_peak = UINT64_MAX;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        uint64_t event = mt_survey_peak(pass->survey, slot, &of_cuda)->event;
        if (event > pass->replay->events && event < pass->next_peak)
            pass->next_peak = event;
    }
}

static int take_snapshot(struct mt_replay *replay, unsigned slot, int of_cuda)
{
    struct mt_snapshot *snapshot = &replay->snapshot[slot];
    struct mt_heap *heap = of_cuda ? &replay->cuda.heap : &replay->blocks;
    snapshot->blocks = malloc((heap->total[slot].blocks + 1) * sizeof *snapshot->blocks);
    if (!snapshot->blocks)
        return -ENOMEM;
    for (uint32_t i = 1; i < heap->n_blocks; i++) {
        struct mt_block *block = mt_heap_live(heap, i);
        if (!block || mt_device_slot(block->device) != slot)
            continue;
        mt_heap_hold(block);
        snapshot->blocks[snapshot->n_blocks++] = block;
    }
    snapshot->bytes = heap->total[slot].bytes;
    snapshot->cuda_bytes = replay->cuda.heap.total[slot].bytes;
    snapshot->event = replay->events;
    snapshot->of_cuda = of_cuda;
    return 0;
}

static int take_snapshots(struct pass *pass)
{
    int of_cuda;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        if (mt_survey_peak(pass->survey, slot, &of_cuda)->event == pass->replay->events &&
            take_snapshot(pass->replay, slot, of_cuda))
            return -ENOMEM;
    find_next_peak(pass);
    return 0;
}

/* PyTorch counts too: after each event its total has to have moved by the event's size. */
static void compare_total(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    uint64_t change = event->kind == MT_ALLOC ? event->arg[1] : -event->arg[1];
    if (!replay->counted[slot]) {
        replay->counted[slot] = 1;
        replay->unseen[slot] = event->arg[2] - change;
    } else if (replay->expected[slot] + change != event->arg[2]) {
        replay->oddities.drift++;
    }
    replay->expected[slot] = event->arg[2];
}

static void end_block(struct mt_replay *replay, struct mt_block *block)
{
    if (block->references > 1)
        mt_tracker_ended(&replay->tracker, block, 0);
    mt_heap_remove(&replay->blocks, block);
    mt_heap_release(&replay->blocks, block);
}

static int on_alloc(struct mt_replay *replay, const struct mt_event *event)
{
    compare_total(replay, event);
    struct mt_block *block = mt_heap_at(&replay->blocks, event->arg[0]);
    if (block) {
        replay->oddities.replaced++;
        end_block(replay, block);
    }
    block = mt_heap_add(&replay->blocks, event);
    if (!block)
        return -ENOMEM;
    mt_tracker_made(&replay->tracker, block);
    return 0;
}

static void on_free(struct mt_replay *replay, const struct mt_event *event)
{
    compare_total(replay, event);
    struct mt_block *block = mt_heap_at(&replay->blocks, event->arg[0]);
    if (!block) {
        replay->oddities.unknown++;
        return;
    }
    if (block->size != event->arg[1])
        replay->oddities.wrong_size++;
    end_block(replay, block);
}

static void on_oom(struct mt_replay *replay, const struct mt_event *event)
{
    replay->ooms[replay->n_ooms++ % MT_OOMS_KEPT] = (struct mt_oom){.time_ns = event->time_ns,
                                                                    .wanted = event->arg[0],
                                                                    .allocated = event->arg[1],
                                                                    .reserved = event->arg[2],
                                                                    .stack = event->stack,
                                                                    .device = event->device};
}

static int on_event(struct pass *pass, const struct mt_event *event)
{
    struct mt_replay *replay = pass->replay;
    replay->events++;
    int rc = mt_tracker_event(&replay->tracker, event);
    if (rc)
        return rc;
    switch (event->kind) {
    case MT_ALLOC:
        rc = on_alloc(replay, event);
        break;
    case MT_FREE:
        on_free(replay, event);
        break;
    case MT_OOM:
        on_oom(replay, event);
        break;
    case MT_CUDA_MALLOC:
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_FAILED:
        rc = mt_cuda_event(&replay->cuda, event);
        break;
    }
    if (!rc && replay->events == pass->next_peak)
        rc = take_snapshots(pass);
    return rc;
}

static int handle(void *data, const struct mt_batch *batch)
{
    struct pass *pass = data;
    for (size_t i = 0; i < batch->n_definitions; i++)
        if (mt_definitions_add(pass->replay->definitions, &batch->definitions[i]) == -ENOMEM)
            return -ENOMEM;
    for (size_t i = 0; i < batch->n_events; i++)
        if (on_event(pass, &batch->events[i]))
            return -ENOMEM;
    return 0;
}

/* The blocks that are still live have reached the end of what is known of them. */
static void finish(struct mt_replay *replay, const struct mt_survey *survey)
{
    if (survey->complete)
        mt_tracker_finish(&replay->tracker);
    for (uint32_t i = 1; i < replay->blocks.n_blocks; i++) {
        struct mt_block *block = mt_heap_live(&replay->blocks, i);
        if (block)
            mt_tracker_ended(&replay->tracker, block, 1);
    }
}

int mt_replay(const char *path, const struct mt_survey *survey, struct mt_replay *replay,
              struct mt_trace_error *error)
{
    struct pass pass = {.replay = replay, .survey = survey};
    memset(replay, 0, sizeof *replay);
    replay->definitions = mt_definitions_create();
    if (!replay->definitions)
        return -ENOMEM;
    replay->tracker.definitions = replay->definitions;
    replay->tracker.heap = &replay->blocks;
    find_next_peak(&pass);
    int rc = mt_scan(path, handle, &pass, error);
    if (!rc)
        finish(replay, survey);
    return rc;
}

void mt_replay_clear(struct mt_replay *replay)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        free(replay->snapshot[slot].blocks);
    mt_tracker_clear(&replay->tracker);
    mt_heap_clear(&replay->blocks);
    mt_cuda_clear(&replay->cuda);
    mt_definitions_destroy(replay->definitions);
    memset(replay, 0, sizeof *replay);
}
