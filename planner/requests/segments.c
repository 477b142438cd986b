/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the program called empty_cache. No event says so, but segments are given back. PyTorch's
 * allocator also does that in an allocation that finds no memory; then it asks CUDA again at once.
 */
#include "inside.h"
#include "trace-format/cuda-apis.h"

#include <string.h>

int mt_gather_segment(struct mt_gathering *g, struct mt_gather_thread *thread,
                      const struct mt_event *alloc, unsigned pool)
{
    uint64_t given = thread->given;
    thread->given = 0;
    if (!given || alloc->address - given >= thread->given_bytes)
        return 0;
    if (mt_grow(&g->segment, &g->segments_capacity, g->n_segments + 1, sizeof *g->segment) ||
        mt_address_map_put(&g->segments, given, (uint32_t)g->n_segments + 1))
        return -ENOMEM;
    g->segment[g->n_segments++] = (struct mt_gather_segment){mt_device_slot(alloc->device), pool};
    return 0;
}

int mt_gather_end_frees(struct mt_gathering *g, struct mt_gather_thread *thread)
{
    if (thread->frees)
        g->device[thread->frees_slot].asked.request[thread->frees - 1].kind =
            MT_REQUEST_EMPTY_CACHE;
    thread->frees = 0;
    return 0;
}

/* A private pool gives memory back once nobody uses it. */
static int release_pool(struct mt_asking *asking, const struct mt_gather_at *at, unsigned pool)
{
    if (!pool)
        return 0;
    struct mt_request release = {.pool = pool & MT_GATHER_MOST_POOLS,
                                 .kind = MT_REQUEST_POOL_RELEASE};
    return mt_gather_ask(asking, at, release);
}

/* A segment, or a piece of an expandable one, goes. */
static int give_back(struct mt_gathering *g, struct mt_gather_thread *thread, uint64_t event,
                     unsigned slot, unsigned pool)
{
    struct mt_asking *asking = &g->device[slot];
    const struct mt_gather_at at = {.event = event};
    if (release_pool(asking, &at, pool))
        return -ENOMEM;
    if (thread->frees && thread->frees_slot == slot)
        return 0;
    mt_gather_end_frees(g, thread);
    if (mt_gather_ask(asking, &at, (struct mt_request){.kind = MT_REQUEST_MARK}))
        return -ENOMEM;
    thread->frees = asking->asked.n;
    thread->frees_slot = slot;
    return 0;
}

static int on_free(struct mt_gathering *g, struct mt_gather_thread *thread, uint64_t event,
                   uint64_t address)
{
    uint32_t index = mt_address_map_take(&g->segments, address);
    if (!index)
        return 0;
    struct mt_gather_segment *segment = &g->segment[index - 1];
    unsigned pool = segment->pool;
    for (size_t i = 0; pool && i < g->n_segments; i++) /* each pool is released once */
        if (g->segment[i].pool == pool && g->segment[i].slot == segment->slot)
            g->segment[i].pool = 0;
    return give_back(g, thread, event, segment->slot, pool);
}

int mt_gather_cuda(struct mt_gathering *g, struct mt_gather_thread *thread,
                   const struct mt_replay *replay, const struct mt_event *event)
{
    switch (event->kind) {
    case MT_CUDA_MALLOC:
        if (mt_cuda_api_space(event->CUDA_MALLOC.api) == MT_SPACE_HOST)
            return 0;
        thread->frees = 0; /* they made room for this */
        thread->given = event->CUDA_MALLOC.result ? 0 : event->address;
        thread->given_bytes = event->size;
        return 0;
    case MT_CUDA_FREE:
        return on_free(g, thread, replay->events, event->address);
    case MT_CUDA_UNMAP: /* of an expandable segment: its address space stays */
        return thread->device == event->device || event->device == MT_NO_DEVICE
                   ? give_back(g, thread, replay->events, mt_device_slot(thread->device), 0)
                   : 0;
    default:
        return 0;
    }
}
