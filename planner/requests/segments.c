/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the program called empty_cache. No event says so, but segments are given back, by a Python
 * function of that name; or by C++, where PyTorch's allocator also does that in an allocation that
 * finds no memory; then it asks CUDA again at once.
 */
#include "inside.h"
#include "trace-format/cuda-apis.h"

#include <string.h>

static int add_segment(struct mt_gathering *g, uint64_t address, struct mt_gather_segment segment)
{
    if (MT_GROW(g->segment, g->segments_capacity, g->n_segments) ||
        mt_address_map_put(&g->segments, address, (uint32_t)g->n_segments + 1))
        return -ENOMEM;
    g->segment[g->n_segments++] = segment;
    return 0;
}

/* Add memory that is mapped piece by piece; the pieces behind a block are the allocator's. */
static int add_mapped(struct mt_gathering *g, struct mt_gather_thread *thread,
                      const struct mt_event *map)
{
    if (add_segment(g, map->address,
                    (struct mt_gather_segment){.address = map->address, .next = thread->mapped}))
        return -ENOMEM;
    thread->mapped = (uint32_t)g->n_segments;
    return 0;
}

static void name_mapped(struct mt_gathering *g, struct mt_gather_thread *thread,
                        const struct mt_event *alloc, unsigned pool)
{
    for (uint32_t index = thread->mapped; index; index = g->segment[index - 1].next) {
        struct mt_gather_segment *piece = &g->segment[index - 1];
        if (piece->address - alloc->address < alloc->size)
            piece->pool = pool;
    }
    thread->mapped = 0;
}

int mt_gather_segment(struct mt_gathering *g, struct mt_gather_thread *thread,
                      const struct mt_event *alloc, unsigned pool)
{
    uint64_t given = thread->given;
    thread->given = 0;
    name_mapped(g, thread, alloc, pool);
    if (!given || alloc->address - given >= thread->given_bytes)
        return 0;
    return add_segment(
        g, given, (struct mt_gather_segment){.slot = mt_device_slot(alloc->device), .pool = pool});
}

int mt_gather_end_frees(struct mt_gathering *g, struct mt_gather_thread *thread)
{
    if (thread->frees)
        g->device[thread->frees_slot].asked.request[thread->frees - 1].kind =
            MT_REQUEST_EMPTY_CACHE;
    thread->frees = 0;
    return 0;
}

/* Move the last request before the one that stands for the thread's frees. */
static void move_before_frees(struct mt_gathering *g, struct mt_gather_thread *thread)
{
    struct mt_asked *asked = &g->device[thread->frees_slot].asked;
    size_t to = thread->frees - 1, last = asked->n - 1;
    struct mt_request request = asked->request[last];
    struct mt_asked_at at = asked->recorded[last];
    memmove(&asked->request[to + 1], &asked->request[to], (last - to) * sizeof request);
    memmove(&asked->recorded[to + 1], &asked->recorded[to], (last - to) * sizeof at);
    asked->request[to] = request;
    asked->recorded[to] = at;
    for (size_t i = 0; i < g->n_threads; i++)
        g->thread[i].frees +=
            g->thread[i].frees > to && g->thread[i].frees_slot == thread->frees_slot;
}

/* Release a private pool, which gives memory back once nobody uses it: it was released before,
 * once. */
static int release_pool(struct mt_gathering *g, struct mt_gather_thread *thread, unsigned slot,
                        uint64_t event, unsigned pool)
{
    struct mt_request release = {.pool = pool & MT_GATHER_MOST_POOLS,
                                 .kind = MT_REQUEST_POOL_RELEASE};
    if (!pool || pool == MT_GATHER_MOST_POOLS || g->device[slot].is_released[pool])
        return 0;
    g->device[slot].is_released[pool] = true;
    if (mt_gather_ask(&g->device[slot], &(struct mt_gather_at){.event = event}, release))
        return -ENOMEM;
    if (thread->frees && thread->frees_slot == slot)
        move_before_frees(g, thread);
    return 0;
}

static bool is_in_empty_cache(const struct mt_replay *replay, uint32_t stack)
{
    const struct mt_definitions *d = replay->definitions;
    const struct mt_frame *frame = mt_stack_frame(d, mt_stack(d, stack)->python);
    return !strcmp(frame->function, "empty_cache") && strstr(frame->file, "torch/");
}

/* Give back a segment, or a piece of an expandable one. */
static int give_back(struct mt_gathering *g, struct mt_gather_thread *thread,
                     const struct mt_replay *replay, const struct mt_event *event, unsigned slot,
                     unsigned pool)
{
    struct mt_asking *asking = &g->device[slot];
    const struct mt_gather_at at = {.event = replay->events};
    bool is_certain = is_in_empty_cache(replay, event->stack);
    if (release_pool(g, thread, slot, at.event, pool))
        return -ENOMEM;
    if (thread->frees && thread->frees_slot == slot)
        return 0;
    mt_gather_end_frees(g, thread);
    struct mt_request frees = {.kind = is_certain ? MT_REQUEST_EMPTY_CACHE : MT_REQUEST_MARK};
    if (mt_gather_ask(asking, &at, frees))
        return -ENOMEM;
    thread->frees = asking->asked.n;
    thread->frees_slot = slot;
    return 0;
}

static int on_free(struct mt_gathering *g, struct mt_gather_thread *thread,
                   const struct mt_replay *replay, const struct mt_event *event)
{
    uint32_t index = mt_address_map_take(&g->segments, event->address);
    if (!index)
        return 0;
    const struct mt_gather_segment *segment = &g->segment[index - 1];
    return give_back(g, thread, replay, event, segment->slot, segment->pool);
}

/* Unmap a part of an expandable segment: its address space stays. */
static int on_unmap(struct mt_gathering *g, struct mt_gather_thread *thread,
                    const struct mt_replay *replay, const struct mt_event *event)
{
    uint32_t index = mt_address_map_take(&g->segments, event->address);
    if (thread->device != event->device && event->device != MT_NO_DEVICE)
        return 0;
    return give_back(g, thread, replay, event, mt_device_slot(thread->device),
                     index ? g->segment[index - 1].pool : 0);
}

int mt_gather_cuda(struct mt_gathering *g, struct mt_gather_thread *thread,
                   const struct mt_replay *replay, const struct mt_event *event)
{
    switch (event->kind) {
    case MT_CUDA_MALLOC:
        if (mt_cuda_api_space(event->CUDA_MALLOC.api) == MT_SPACE_HOST)
            return 0;
        thread->frees = 0; /* they made room for this, if it is not certain that they did not */
        thread->given = event->CUDA_MALLOC.result ? 0 : event->address;
        thread->given_bytes = event->size;
        return 0;
    case MT_CUDA_FREE:
        return on_free(g, thread, replay, event);
    case MT_CUDA_MAP:
        return add_mapped(g, thread, event);
    case MT_CUDA_UNMAP:
        return on_unmap(g, thread, replay, event);
    default:
        return 0;
    }
}
