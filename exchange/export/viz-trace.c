/* SPDX-License-Identifier: Apache-2.0 */
/* A device's entries of a snapshot: each event as PyTorch's allocator notes it. */
#include "analyzer/support/search.h"
#include "trace-format/cuda-apis.h"
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
                        const struct mt_viz_segment *segment, const struct mt_event *event)
{
    if (!begin_entry(viz, action, "addr", segment->address, segment->size, segment->stream, event))
        return;
    mt_viz_category(viz, -1);
    mt_viz_pool(viz, "pool_id", segment->pool);
    mt_pickle_dict_end(viz->pickle);
}

/* Find the first segment at the address, or behind it. */
static size_t find_segment(const struct mt_viz *viz, uint64_t address)
{
    return MT_LEADING(i, viz->n_segments, viz->segments[i].address < address);
}

static void insert_segment(struct mt_viz *viz, const struct mt_viz_segment *segment)
{
    size_t at = find_segment(viz, segment->address);
    if (at < viz->n_segments && viz->segments[at].address == segment->address) {
        viz->segments[at] = *segment; /* its free is missing */
        return;
    }
    if (MT_GROW(viz->segments, viz->segments_capacity, viz->n_segments)) {
        viz->rc = -ENOMEM;
        return;
    }
    memmove(&viz->segments[at + 1], &viz->segments[at], (viz->n_segments++ - at) * sizeof *segment);
    viz->segments[at] = *segment;
}

/* Note that CUDA gave memory to this thread. Its next alloc says whether it is PyTorch's. */
static void await(struct mt_viz *viz, const struct mt_event *event, bool is_expandable)
{
    if (!event->address || !event->size ||
        MT_GROW(viz->pending, viz->pending_capacity, viz->n_pending))
        return;
    viz->pending[viz->n_pending++] =
        (struct mt_viz_pending){.segment = {.address = event->address,
                                            .size = event->size,
                                            .stack = event->stack,
                                            .is_expandable = is_expandable},
                                .event = *event};
}

static void take_pending(struct mt_viz *viz, const struct mt_event *alloc,
                         const struct mt_viz_request *request)
{
    size_t n = 0;
    for (size_t i = 0; i < viz->n_pending; i++) {
        struct mt_viz_pending *pending = &viz->pending[i];
        if (pending->event.thread != alloc->thread) {
            viz->pending[n++] = *pending;
            continue;
        }
        if (pending->segment.size > alloc->ALLOC.reserved - viz->reserved)
            continue; /* not PyTorch's */
        viz->reserved += pending->segment.size;
        pending->segment.stream = request->stream;
        pending->segment.pool = request->pool;
        insert_segment(viz, &pending->segment);
        put_segment(viz, pending->segment.is_expandable ? "segment_map" : "segment_alloc",
                    &pending->segment, &pending->event);
    }
    viz->n_pending = n;
    viz->reserved = alloc->ALLOC.reserved;
}

static struct mt_viz_request *request_at(const struct mt_viz *viz, uint64_t address)
{
    uint32_t place = mt_address_map_get(&viz->by_address, address);
    return place ? &viz->requests[place - 1] : NULL;
}

/* Return whether a block lies in segments that are known; an expandable one has many pieces. */
static bool is_in_segment(const struct mt_viz *viz, uint64_t address, uint64_t size)
{
    size_t at = find_segment(viz, address);
    if (at == viz->n_segments || viz->segments[at].address != address) {
        if (!at)
            return false;
        at--;
    }
    for (uint64_t from = address; at < viz->n_segments; at++) {
        const struct mt_viz_segment *segment = &viz->segments[at];
        uint64_t end = segment->address + segment->size;
        if (segment->address > from || end <= from)
            return false;
        if (end - address >= size)
            return true;
        from = end;
    }
    return false;
}

/* Put a segment for a block without one: memory_viz shows every block in a segment. */
static void put_own_segment(struct mt_viz *viz, const char *action,
                            const struct mt_viz_request *request, const struct mt_event *event)
{
    put_segment(viz, action,
                &(struct mt_viz_segment){.address = request->address,
                                         .size = request->size,
                                         .stream = request->stream,
                                         .pool = request->pool},
                event);
}

static void drop_request(struct mt_viz *viz, uint64_t address)
{
    uint32_t place = mt_address_map_take(&viz->by_address, address);
    if (!place)
        return;
    viz->requests[place - 1] = (struct mt_viz_request){.size = viz->free_request};
    viz->free_request = place;
}

static void put_free(struct mt_viz *viz, const char *action, const struct mt_viz_request *request,
                     const struct mt_event *event)
{
    if (!begin_entry(viz, action, "addr", request->address, request->size - request->unused,
                     request->stream, event))
        return;
    mt_viz_category(viz, request->rule);
    mt_viz_pool(viz, "pool_id", request->pool);
    mt_pickle_dict_end(viz->pickle);
}

static void put_completed(struct mt_viz *viz, const struct mt_viz_request *request,
                          const struct mt_event *event)
{
    put_free(viz, "free_completed", request, event);
    if (request->is_alone)
        put_own_segment(viz, "segment_free", request, event);
}

/* Complete all frees. Before PyTorch gives memory back it waits until the blocks that other streams
 * use are free. The trace may say so later only. */
static void complete_all(struct mt_viz *viz, const struct mt_event *event)
{
    for (size_t i = 0; i < viz->n_requests && viz->n_freed; i++) {
        struct mt_viz_request request = viz->requests[i];
        if (!request.is_freed)
            continue;
        viz->n_freed--;
        put_completed(viz, &request, event);
        drop_request(viz, request.address);
    }
}

static void note_free_segment(struct mt_viz *viz, const struct mt_event *event)
{
    size_t at = find_segment(viz, event->address);
    if (at == viz->n_segments || viz->segments[at].address != event->address ||
        viz->segments[at].is_expandable)
        return;
    complete_all(viz, event);
    struct mt_viz_segment gone = viz->segments[at];
    memmove(&viz->segments[at], &viz->segments[at + 1], (--viz->n_segments - at) * sizeof gone);
    viz->reserved -= gone.size < viz->reserved ? gone.size : viz->reserved;
    put_segment(viz, "segment_free", &gone, event);
}

static void note_unmap(struct mt_viz *viz, const struct mt_event *event)
{
    size_t first = find_segment(viz, event->address), last = first;
    struct mt_viz_segment gone = {0};
    while (last < viz->n_segments && viz->segments[last].is_expandable &&
           viz->segments[last].address - event->address < event->CUDA_UNMAP.size) {
        uint64_t size = gone.size + viz->segments[last].size;
        gone = last == first ? viz->segments[last] : gone;
        gone.size = size;
        last++;
    }
    if (last == first)
        return;
    complete_all(viz, event);
    memmove(&viz->segments[first], &viz->segments[last], (viz->n_segments - last) * sizeof gone);
    viz->n_segments -= last - first;
    viz->reserved -= gone.size < viz->reserved ? gone.size : viz->reserved;
    put_segment(viz, "segment_unmap", &gone, event);
}

static void add_request(struct mt_viz *viz, const struct mt_viz_request *request)
{
    drop_request(viz, request->address);
    uint32_t place = viz->free_request;
    if (place) {
        viz->free_request = (uint32_t)viz->requests[place - 1].size;
    } else if (MT_GROW(viz->requests, viz->requests_capacity, viz->n_requests)) {
        viz->rc = -ENOMEM;
        return;
    } else {
        place = (uint32_t)++viz->n_requests;
    }
    viz->requests[place - 1] = *request;
    if (mt_address_map_put(&viz->by_address, request->address, place))
        viz->rc = -ENOMEM;
}

/* Number the pools as they come; 0: none. */
static uint64_t pool_number(struct mt_viz *viz, uint64_t pool)
{
    uint32_t number = pool ? mt_address_map_get(&viz->pools, pool) : 0;
    if (!pool || number)
        return number;
    if (mt_address_map_put(&viz->pools, pool, ++viz->n_pools))
        viz->rc = -ENOMEM;
    return viz->n_pools;
}

static void note_alloc(struct mt_viz *viz, const struct mt_replay *replay,
                       const struct mt_event *event)
{
    const struct mt_request_stream *of =
        mt_requests_of(&replay->present.thread->requests, viz->slot);
    struct mt_viz_request request = {
        .address = event->address,
        .size = event->size,
        .unused = replay->present.unused < event->size ? replay->present.unused : 0,
        .stream = of ? of->stream : 0,
        .pool = of ? pool_number(viz, of->pool) : 0,
        .stack = event->stack,
        .rule = mt_pass_rule(viz->pass, replay->events)};
    take_pending(viz, event, &request);
    request.is_alone = !is_in_segment(viz, request.address, request.size);
    if (request.address)
        add_request(viz, &request);
    if (request.is_alone)
        put_own_segment(viz, "segment_alloc", &request, event);
    if (!begin_entry(viz, "alloc", "addr", event->address, event->size - request.unused,
                     request.stream, event))
        return;
    const struct mt_block *block = mt_heap_at(&replay->blocks, event->address);
    mt_viz_category(viz, request.rule);
    if (block)
        mt_viz_forward_frames(viz, block->forward_stack);
    mt_viz_metadata(viz, block, request.rule);
    mt_viz_pool(viz, "pool_id", request.pool);
    mt_pickle_dict_end(viz->pickle);
}

static void note_free(struct mt_viz *viz, const struct mt_replay *replay,
                      const struct mt_event *event)
{
    struct mt_viz_request *known = request_at(viz, event->address);
    struct mt_viz_request request = known ? *known
                                          : (struct mt_viz_request){.address = event->address,
                                                                    .size = event->FREE.size,
                                                                    .rule = -1};
    viz->reserved = event->FREE.reserved;
    put_free(viz, "free_requested", &request, event);
    if (replay->present.waits && known) {
        known->is_freed = true;
        viz->n_freed++;
    } else {
        put_completed(viz, &request, event);
        drop_request(viz, event->address);
    }
}

static void note_done(struct mt_viz *viz, const struct mt_event *event)
{
    const struct mt_viz_request *known = request_at(viz, event->FREE_DONE.address);
    if (!known || !known->is_freed)
        return;
    viz->n_freed--;
    put_completed(viz, known, event);
    drop_request(viz, event->FREE_DONE.address);
}

static void note_oom(struct mt_viz *viz, const struct mt_replay *replay,
                     const struct mt_event *event)
{
    if (!begin_entry(viz, "oom", "device_free", replay->samples.last[viz->slot].free,
                     event->OOM.size, 0, event))
        return;
    mt_pickle_dict_end(viz->pickle);
}

/* Note a call. Its device may not be known; PyTorch's next alloc says it. */
static void note_cuda(struct mt_viz *viz, const struct mt_event *event)
{
    if (event->device != MT_NO_DEVICE && mt_device_slot(event->device) != viz->slot)
        return;
    switch (event->kind) {
    case MT_CUDA_MALLOC:
        if (!event->CUDA_MALLOC.result && event->CUDA_MALLOC.api == MT_API_CUDA_MALLOC)
            await(viz, event, false);
        break;
    case MT_CUDA_FREE:
        note_free_segment(viz, event);
        break;
    case MT_CUDA_MAP:
        await(viz, event, true);
        break;
    case MT_CUDA_UNMAP:
        note_unmap(viz, event);
        break;
    }
}

static void note_of_device(struct mt_viz *viz, const struct mt_replay *replay,
                           const struct mt_event *event)
{
    switch (event->kind) {
    case MT_ALLOC:
        note_alloc(viz, replay, event);
        break;
    case MT_FREE:
        note_free(viz, replay, event);
        break;
    case MT_FREE_DONE:
        note_done(viz, event);
        break;
    case MT_OOM:
        note_oom(viz, replay, event);
        break;
    }
}

static int note(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_viz *viz = data;
    viz->is_over = replay->events > viz->until || (viz->pickle && viz->pickle->sink->rc);
    if (viz->is_over)
        return -ECANCELED;
    if (event->kind >= MT_CUDA_MALLOC && event->kind <= MT_CUDA_UNMAP)
        note_cuda(viz, event);
    else if (mt_device_slot(event->device) == viz->slot)
        note_of_device(viz, replay, event);
    return viz->rc;
}

int mt_viz_trace(struct mt_viz *viz, struct mt_export_error *error)
{
    const struct mt_watcher watcher = {note, viz};
    struct mt_question question = {.moment = {MT_AT_END, 0},
                                   .rules = viz->export->question.rules,
                                   .no_labels = viz->export->question.no_labels,
                                   .watcher = &watcher};
    struct mt_trace_error fault = {0};
    struct mt_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return -ENOMEM;
    int rc = mt_replay(viz->path, &question, replay, &fault);
    mt_replay_clear(replay);
    free(replay);
    if (viz->is_over)
        rc = 0; /* or the sink knows */
    return mt_export_note(error, viz->path, &fault, rc ? rc : viz->rc);
}
