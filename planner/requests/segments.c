/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detect calls of empty_cache, which are not recorded: segments are freed below a Python function
 * of that name, or from C++. An allocation that finds no memory frees segments, too, but then calls
 * CUDA again at once.
 */
#include "inside.h"
#include "trace-format/cuda-apis.h"

#include <string.h>

static struct mt_gather_thread *thread_of(struct mt_gathering *g, uint32_t thread)
{
    uint32_t place = MT_PLACE_OF(&g->threads, thread, g->thread, g->threads_capacity, g->n_threads);
    return place ? &g->thread[place - 1] : NULL;
}

void mt_gather_end_frees(struct mt_gathering *g, struct mt_gather_thread *thread)
{
    if (thread->frees)
        g->device[thread->frees_slot].requests.request[thread->frees - 1].kind =
            MT_REQUEST_EMPTY_CACHE;
    thread->frees = 0;
}

int mt_gather_frees(struct mt_gathering *g, const struct mt_event *event)
{
    bool is_request =
        event->kind == MT_OOM || (event->kind == MT_CUDA_MALLOC &&
                                  mt_cuda_api_space(event->CUDA_MALLOC.api) != MT_SPACE_HOST);
    if (!is_request && event->kind != MT_ALLOC && event->kind != MT_FREE)
        return 0;
    struct mt_gather_thread *thread = thread_of(g, event->thread);
    if (!thread)
        return -ENOMEM;
    if (is_request) /* they may have made room for this */
        thread->frees = 0;
    mt_gather_end_frees(g, thread);
    return 0;
}

/* Move the last request before the one that stands for the thread's frees. */
static void move_before_frees(struct mt_gathering *g, struct mt_gather_thread *thread)
{
    struct mt_requests *requests = &g->device[thread->frees_slot].requests;
    size_t to = thread->frees - 1, last = requests->n - 1;
    struct mt_request request = requests->request[last];
    struct mt_request_totals at = requests->recorded[last];
    memmove(&requests->request[to + 1], &requests->request[to], (last - to) * sizeof request);
    memmove(&requests->recorded[to + 1], &requests->recorded[to], (last - to) * sizeof at);
    requests->request[to] = request;
    requests->recorded[to] = at;
    for (size_t i = 0; i < g->n_threads; i++)
        g->thread[i].frees +=
            g->thread[i].frees > to && g->thread[i].frees_slot == thread->frees_slot;
}

/* Release a private pool. It frees memory only once it is no longer used, so it must have been
 * released before. */
static int release_pool(struct mt_gathering *g, struct mt_gather_thread *thread,
                        const struct mt_torch_segment *segment, const struct mt_gather_at *at)
{
    unsigned pool = mt_gather_pool(segment->pool_number);
    struct mt_request release = {.pool = pool & MT_GATHER_MOST_POOLS,
                                 .kind = MT_REQUEST_POOL_RELEASE};
    if (!segment->ends_pool || pool == MT_GATHER_MOST_POOLS)
        return 0;
    if (mt_gather_add(&g->device[segment->slot], at, release))
        return -ENOMEM;
    if (thread->frees && thread->frees_slot == segment->slot)
        move_before_frees(g, thread);
    return 0;
}

static bool is_in_empty_cache(const struct mt_replay *replay, uint32_t stack)
{
    const struct mt_definitions *d = replay->definitions;
    const struct mt_frame *frame = mt_stack_frame(d, mt_stack(d, stack)->python);
    return !strcmp(frame->function, "empty_cache") && strstr(frame->file, "torch/");
}

int mt_gather_given_back(void *gathering, const struct mt_replay *replay,
                         const struct mt_torch_segment *segment, const struct mt_event *event)
{
    struct mt_gathering *g = gathering;
    struct mt_gather_thread *thread = thread_of(g, event->thread);
    struct mt_gathered *gathered = &g->device[segment->slot];
    const struct mt_gather_at at = {.event = replay->events};
    struct mt_request frees = {
        .kind = is_in_empty_cache(replay, event->stack) ? MT_REQUEST_EMPTY_CACHE : MT_REQUEST_MARK};
    if (!thread || release_pool(g, thread, segment, &at))
        return -ENOMEM;
    if (thread->frees && thread->frees_slot == segment->slot)
        return 0;
    mt_gather_end_frees(g, thread);
    if (mt_gather_add(gathered, &at, frees))
        return -ENOMEM;
    thread->frees = gathered->requests.n;
    thread->frees_slot = segment->slot;
    return 0;
}
