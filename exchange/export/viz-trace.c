/* SPDX-License-Identifier: Apache-2.0 */
/* A device's entries of a snapshot: each event as PyTorch's allocator records it. */
#include "viz.h"

#include <errno.h>
#include <stdlib.h>

/* Write what all entries have. Return false if this one is to be left out. */
static bool begin_entry(struct mt_viz *viz, const char *action, const char *address_key,
                        uint64_t address, uint64_t size, uint64_t stream,
                        const struct mt_event *event)
{
    struct mt_pickle *pickle = viz->pickle;
    if (++viz->entries <= viz->skip || !pickle)
        return false;
    mt_pickle_item(pickle, &viz->list);
    mt_pickle_dict(pickle);
    mt_pickle_key(pickle, "action");
    mt_pickle_key(pickle, action);
    mt_pickle_key(pickle, address_key);
    mt_pickle_number(pickle, address);
    mt_pickle_key(pickle, "size");
    mt_pickle_number(pickle, size);
    mt_pickle_key(pickle, "stream");
    mt_pickle_number(pickle, stream);
    mt_pickle_key(pickle, "time_us");
    mt_pickle_number(pickle, viz->start_us + event->time_ns / 1000);
    mt_pickle_key(pickle, "compile_context");
    mt_pickle_key(pickle, "N/A");
    mt_viz_frames(viz, "frames", event->stack);
    return true;
}

static void put_segment(struct mt_viz *viz, const char *action,
                        const struct mt_torch_segment *segment, const struct mt_event *event)
{
    if (!begin_entry(viz, action, "addr", segment->address, segment->size, segment->stream, event))
        return;
    mt_viz_category(viz, -1);
    mt_viz_pool(viz, "pool_id", segment->pool_number);
    mt_pickle_dict_end(viz->pickle);
}

/* Write a segment for a block without one: memory_viz shows every block in a segment. */
static void put_own_segment(struct mt_viz *viz, const char *action,
                            const struct mt_torch_block *block, const struct mt_event *event)
{
    put_segment(viz, action,
                &(struct mt_torch_segment){.address = block->address,
                                           .size = block->size,
                                           .stream = block->stream,
                                           .pool_number = block->pool_number},
                event);
}

static void put_free(struct mt_viz *viz, const char *action, const struct mt_torch_block *block,
                     const struct mt_event *event)
{
    if (!begin_entry(viz, action, "addr", block->address, block->size - block->unused,
                     block->stream, event))
        return;
    mt_viz_category(viz, mt_pass_rule(viz->pass, block->event));
    mt_viz_pool(viz, "pool_id", block->pool_number);
    mt_pickle_dict_end(viz->pickle);
}

static int got(void *data, const struct mt_torch_segment *segment, const struct mt_event *call)
{
    struct mt_viz *viz = data;
    if (segment->slot == viz->slot)
        put_segment(viz, segment->is_expandable ? "segment_map" : "segment_alloc", segment, call);
    return viz->rc;
}

static int gives_back(void *data, const struct mt_replay *replay,
                      const struct mt_torch_segment *segment, const struct mt_event *event)
{
    struct mt_viz *viz = data;
    if (segment->slot != viz->slot)
        return 0;
    int rc = mt_torch_memory_complete(&viz->memory, replay, viz->slot, event);
    put_segment(viz, segment->is_expandable ? "segment_unmap" : "segment_free", segment, event);
    return rc ? rc : viz->rc;
}

static int allocated(void *data, const struct mt_replay *replay, struct mt_torch_block *new,
                     const struct mt_event *event)
{
    struct mt_viz *viz = data;
    int rule = mt_pass_rule(viz->pass, new->event);
    if (new->slot != viz->slot)
        return 0;
    new->mark = !mt_torch_memory_has(&viz->memory, new->address, new->size);
    if (new->mark)
        put_own_segment(viz, "segment_alloc", new, event);
    if (!begin_entry(viz, "alloc", "addr", new->address, new->size - new->unused, new->stream,
                     event))
        return viz->rc;
    const struct mt_block *block = mt_heap_at(&replay->blocks, new->address);
    mt_viz_category(viz, rule);
    if (block)
        mt_viz_forward_frames(viz, block->forward_stack);
    mt_viz_metadata(viz, block, rule);
    mt_viz_pool(viz, "pool_id", new->pool_number);
    mt_pickle_dict_end(viz->pickle);
    return viz->rc;
}

static int failed(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                  const struct mt_event *event)
{
    struct mt_viz *viz = data;
    if (block->slot == viz->slot &&
        begin_entry(viz, "oom", "device_free", replay->samples.last[viz->slot].free, block->size, 0,
                    event))
        mt_pickle_dict_end(viz->pickle);
    return viz->rc;
}

static int completed(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                     const struct mt_event *event)
{
    struct mt_viz *viz = data;
    (void)replay;
    if (block->slot != viz->slot)
        return 0;
    put_free(viz, "free_completed", block, event);
    if (block->mark)
        put_own_segment(viz, "segment_free", block, event);
    return viz->rc;
}

static int freed(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                 const struct mt_event *event)
{
    struct mt_viz *viz = data;
    if (block->slot != viz->slot)
        return 0;
    put_free(viz, "free_requested", block, event);
    return block->waits ? viz->rc : completed(viz, replay, block, event);
}

static int note(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_viz *viz = data;
    viz->is_over = replay->events > viz->until || (viz->pickle && viz->pickle->sink->rc);
    return viz->is_over ? -ECANCELED : mt_torch_memory_event(&viz->memory, replay, event);
}

int mt_viz_trace(struct mt_viz *viz, struct mt_export_error *error)
{
    static const struct mt_torch_watcher of_memory = {allocated, failed, freed,
                                                      completed, got,    gives_back};
    const struct mt_watcher watcher = {note, viz};
    struct mt_question question = {.moment = {MT_AT_END, 0},
                                   .rules = viz->export->question.rules,
                                   .no_labels = viz->export->question.no_labels,
                                   .watcher = &watcher};
    struct mt_trace_error fault = {0};
    struct mt_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return -ENOMEM;
    viz->memory.watcher = &of_memory;
    viz->memory.data = viz;
    int rc = mt_replay(viz->path, &question, replay, &fault);
    mt_replay_clear(replay);
    free(replay);
    if (viz->is_over)
        rc = 0; /* or the sink knows */
    return mt_export_note(error, viz->path, &fault, rc ? rc : viz->rc);
}
