/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"
#include "scan.h"

#include <errno.h>
#include <string.h>

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
    mt_tracker_ended(&replay->tracker, block, 0);
    mt_heap_end(&replay->blocks, block);
}

static void see_total(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    struct mt_peak *peak = &replay->peak[slot];
    if (!mt_peak_see(peak, event->time_ns, replay->events, event->arg[2]))
        return;
    peak->reserved = event->arg[3];
    peak->known_bytes = replay->blocks.total[slot].bytes;
    peak->cuda_bytes = replay->cuda.heap.total[slot].bytes;
    mt_heap_remember(&replay->blocks, slot);
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
    see_total(replay, event);
    return 0;
}

static void on_free(struct mt_replay *replay, const struct mt_event *event)
{
    compare_total(replay, event);
    struct mt_block *block = mt_heap_at(&replay->blocks, event->arg[0]);
    if (block && block->size != event->arg[1])
        replay->oddities.wrong_size++;
    if (block)
        end_block(replay, block);
    else
        replay->oddities.unknown++;
    see_total(replay, event); /* the first event may be a free */
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

static int on_event(struct mt_replay *replay, const struct mt_event *event)
{
    /* What a program is doing, its Python stack says; in a thread without one, nothing does. */
    struct mt_event in_python = *event;
    in_python.stack = mt_stack(replay->definitions, event->stack)->python;
    replay->events++;
    int rc = mt_tracker_event(&replay->tracker, &in_python);
    if (rc)
        return rc;
    switch (event->kind) {
    case MT_ALLOC:
        return on_alloc(replay, event);
    case MT_FREE:
        on_free(replay, event);
        return 0;
    case MT_OOM:
        on_oom(replay, event);
        return 0;
    case MT_CUDA_MALLOC:
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_FAILED:
    case MT_CUDA_MALLOC_ASYNC:
    case MT_CUDA_FREE_ASYNC:
        return mt_cuda_event(&replay->cuda, event, replay->events);
    }
    return 0;
}

static int handle(void *data, const struct mt_batch *batch)
{
    struct mt_replay *replay = data;
    mt_survey_add(&replay->survey, batch);
    for (size_t i = 0; i < batch->n_definitions; i++)
        if (mt_definitions_add(replay->definitions, &batch->definitions[i]) == -ENOMEM)
            return -ENOMEM;
    for (size_t i = 0; i < batch->n_events; i++)
        if (on_event(replay, &batch->events[i]))
            return -ENOMEM;
    return 0;
}

/* The blocks that are still live have reached the end of what is known of them. */
static void finish(struct mt_replay *replay)
{
    if (replay->survey.complete)
        mt_tracker_finish(&replay->tracker);
    for (uint32_t i = 1; i < replay->blocks.n_records; i++) {
        struct mt_block *block = mt_heap_record(&replay->blocks, i);
        if (block->state == MT_BLOCK_LIVE)
            mt_tracker_ended(&replay->tracker, block, 1);
    }
}

int mt_replay(const char *path, struct mt_replay *replay, struct mt_trace_error *error)
{
    memset(replay, 0, sizeof *replay);
    mt_survey_begin(&replay->survey, path);
    replay->definitions = mt_definitions_create();
    if (!replay->definitions)
        return -ENOMEM;
    replay->tracker.definitions = replay->definitions;
    replay->tracker.heap = &replay->blocks;
    int rc = mt_scan(path, handle, replay, error);
    if (!rc)
        finish(replay);
    return rc;
}

void mt_replay_clear(struct mt_replay *replay)
{
    mt_tracker_clear(&replay->tracker);
    mt_heap_clear(&replay->blocks);
    mt_cuda_clear(&replay->cuda);
    mt_definitions_destroy(replay->definitions);
    memset(replay, 0, sizeof *replay);
}
