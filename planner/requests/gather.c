/* SPDX-License-Identifier: Apache-2.0 */
#include "gather.h"
#include "inside.h"

#include <stdlib.h>
#include <string.h>

/* Note the card's memory in use outside PyTorch, by CUDA's calls; samples are added at the end. */
static int note_others(struct mt_gathered *gathered, const struct mt_replay *replay, unsigned slot,
                       const struct mt_gather_at *at)
{
    uint64_t cuda = replay->of_cuda.now[slot].allocated;
    uint64_t others = cuda > at->reserved ? cuda - at->reserved : 0;
    if (others == gathered->others)
        return 0;
    gathered->others = others;
    struct mt_gather_at base = {
        .event = at->event, .allocated = gathered->n_samples, .reserved = cuda};
    return mt_gather_add(gathered, &base,
                         (struct mt_request){.size = others, .kind = MT_REQUEST_OTHERS});
}

/* Begin a private pool with its first request. */
static int begin_pool(struct mt_gathered *gathered, uint64_t event, unsigned pool)
{
    struct mt_request create = {.pool = pool & MT_GATHER_MOST_POOLS,
                                .kind = MT_REQUEST_POOL_CREATE};
    if (pool <= gathered->n_pools)
        return 0;
    gathered->n_pools = pool;
    return mt_gather_add(gathered, &(struct mt_gather_at){.event = event}, create);
}

/* Drop a library's failed request: the program continued without it. */
static void forget_library(struct mt_gathered *gathered)
{
    if (!gathered->library_wanted)
        return;
    gathered->requests.request[gathered->library_at].size -= gathered->library_wanted;
    gathered->requests.request[gathered->library_at].stream = 0;
    gathered->library_wanted = 0;
    gathered->requests.ooms--;
}

/* Add the request of a block. */
static int on_request(struct mt_gathering *g, const struct mt_replay *replay,
                      const struct mt_torch_block *block, const struct mt_event *event,
                      struct mt_gather_at at)
{
    struct mt_gathered *gathered = &g->device[block->slot];
    const struct mt_thread_state *thread = replay->present.thread;
    unsigned stream, pool = mt_gather_pool(block->pool_number);
    at.event = replay->events;
    forget_library(gathered);
    if (note_others(gathered, replay, block->slot, &at) ||
        mt_gather_stream(gathered, block->stream, &stream) ||
        begin_pool(gathered, replay->events, pool))
        return -ENOMEM;
    gathered->requests.others_streams += stream != 0;
    gathered->requests.private_allocs += pool != 0;
    at.stack = event->stack;
    at.forward = thread->at.n_nodes ? thread->at.nodes[thread->at.n_nodes - 1].forward_stack : 0;
    return mt_gather_add(gathered, &at,
                         (struct mt_request){.size = block->size - block->unused ?: 1,
                                             .block = block->number,
                                             .stream = (uint16_t)stream,
                                             .pool = pool & MT_GATHER_MOST_POOLS,
                                             .kind = MT_REQUEST_ALLOCATE});
}

static int allocated(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                     const struct mt_event *event)
{
    struct mt_gathering *g = data;
    struct mt_requests *requests = &g->device[block->slot].requests;
    uint64_t allocated = event->ALLOC.allocated, reserved = event->ALLOC.reserved;
    if (replay->present.is_before) {
        if (mt_gather_block(&g->device[block->slot], block))
            return -ENOMEM;
        requests->from_before = 0; /* what was freed until now is not in the allocator's state */
        reserved = 0;              /* it may be that after the event's own request */
    }
    requests->allocs++;
    requests->unknown += !mt_requests_of(&replay->present.thread->requests, block->slot);
    if (requests->peak_allocated < allocated)
        requests->peak_allocated = allocated;
    if (requests->peak_reserved < reserved)
        requests->peak_reserved = reserved;
    return on_request(g, replay, block, event,
                      (struct mt_gather_at){.allocated = allocated, .reserved = reserved});
}

/* Note a failed request. PyTorch reports its rounded size. Its block's lifetime is unknown. */
static int failed(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                  const struct mt_event *event)
{
    struct mt_gathering *g = data;
    struct mt_gathered *gathered = &g->device[block->slot];
    struct mt_request free = {.block = block->number, .kind = MT_REQUEST_FREE};
    gathered->requests.ooms++;
    gathered->others = UINT64_MAX; /* what was free then counts: the next sample may say it */
    if (on_request(g, replay, block, event,
                   (struct mt_gather_at){.allocated = event->OOM.allocated,
                                         .reserved = event->OOM.reserved}) ||
        mt_gather_add(gathered, &(struct mt_gather_at){.event = replay->events}, free))
        return -ENOMEM;
    gathered->others = UINT64_MAX;
    return 0;
}

static int freed(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                 const struct mt_event *event)
{
    struct mt_gathering *g = data;
    struct mt_gathered *gathered = &g->device[block->slot];
    struct mt_gather_at at = {.event = replay->events};
    if (!block->event) {
        gathered->requests.from_before++;
        return 0;
    }
    gathered->requests.frees++;
    if (block->waits) { /* any stream other than the default one */
        struct mt_request use = {.block = block->number,
                                 .stream = MT_GATHER_OTHER_STREAM,
                                 .kind = MT_REQUEST_RECORD_STREAM};
        gathered->requests.waits++;
        if (mt_gather_add(gathered, &at, use))
            return -ENOMEM;
    }
    if (event->kind == MT_FREE) {
        at.allocated = event->FREE.allocated;
        at.reserved = event->FREE.reserved;
    }
    return mt_gather_add(gathered, &at,
                         (struct mt_request){.block = block->number, .kind = MT_REQUEST_FREE});
}

static int completed(void *data, const struct mt_replay *replay, struct mt_torch_block *block,
                     const struct mt_event *event)
{
    struct mt_gathering *g = data;
    (void)event;
    return mt_gather_add(&g->device[block->slot], &(struct mt_gather_at){.event = replay->events},
                         (struct mt_request){.block = block->number, .kind = MT_REQUEST_COMPLETE});
}

static const struct mt_torch_watcher watcher = {.allocated = allocated,
                                                .failed = failed,
                                                .freed = freed,
                                                .completed = completed,
                                                .got = mt_gather_segment,
                                                .gives_back = mt_gather_given_back};

struct mt_gathering *mt_gathering_create(void)
{
    struct mt_gathering *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        g->device[slot].others = UINT64_MAX; /* not noted yet */
    g->memory.watcher = &watcher;
    g->memory.data = g;
    return g;
}

void mt_gathering_destroy(struct mt_gathering *g)
{
    if (!g)
        return;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        struct mt_gathered *gathered = &g->device[slot];
        free(gathered->requests.request);
        free(gathered->requests.recorded);
        free(gathered->requests.held);
        free(gathered->segment);
        free(gathered->held);
        free(gathered->sample);
        mt_address_map_clear(&gathered->streams);
    }
    mt_address_map_clear(&g->threads);
    mt_torch_memory_clear(&g->memory);
    free(g->thread);
    free(g->conf);
    free(g->result);
    free(g);
}

/* Note the device's own figure of used memory, beyond CUDA's calls: contexts, other processes.
 * Return 0 or -ENOMEM. */
static int on_sample(struct mt_gathered *gathered, const struct mt_replay *replay,
                     const struct mt_event *event)
{
    if (event->DEVICE_MEMORY.free > event->DEVICE_MEMORY.total)
        return 0;
    gathered->requests.card = event->DEVICE_MEMORY.total;
    struct mt_gather_sample sample = {replay->samples.last[mt_device_slot(event->device)],
                                      gathered->freeing != 0};
    if (MT_APPEND(gathered->sample, gathered->samples_capacity, gathered->n_samples, sample))
        return -ENOMEM;
    gathered->others = UINT64_MAX; /* to be noted again */
    return 0;
}

/* Note that a library's request to the card failed; the program needs it unless it continues. */
static int on_library(struct mt_gathered *gathered, const struct mt_replay *replay,
                      const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    struct mt_gather_at at = {.event = replay->events,
                              .reserved = replay->of_torch.now[slot].reserved};
    forget_library(gathered);
    if (note_others(gathered, replay, slot, &at))
        return -ENOMEM;
    struct mt_request wanted = {
        .size = gathered->others + event->size, .stream = 1, .kind = MT_REQUEST_OTHERS};
    at = (struct mt_gather_at){.event = replay->events, .allocated = gathered->n_samples};
    gathered->others = UINT64_MAX; /* to be noted again */
    gathered->requests.ooms++;
    gathered->library_wanted = event->size;
    gathered->library_at = gathered->requests.n;
    return mt_gather_add(gathered, &at, wanted);
}

/* Note how much is CUDA's now. */
static void note_cuda(struct mt_gathered *gathered, uint32_t thread, uint64_t bytes)
{
    if (bytes < gathered->cuda)
        gathered->freeing = thread;
    else if (gathered->freeing == thread)
        gathered->freeing = 0;
    if (bytes > gathered->cuda && gathered->n_samples)
        gathered->sample[gathered->n_samples - 1].may_have_twice = true;
    gathered->cuda = bytes;
}

int mt_gather(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_gathering *g = data;
    struct mt_gathered *gathered = &g->device[mt_device_slot(event->device)];
    mt_handles_note(&gathered->requests.handles, replay, event);
    note_cuda(gathered, event->thread,
              replay->cuda.heap.total[mt_device_slot(event->device)].bytes);
    switch (event->kind) {
    case MT_ALLOC:
    case MT_FREE:
    case MT_OOM:
        gathered->requests.device = event->device;
        break;
    case MT_EMPTY_CACHE:
    case MT_MEMORY_LIMIT:
    case MT_ALLOC_CONF:
        return mt_gather_other(g, replay, event);
    case MT_DEVICE_MEMORY:
        return on_sample(gathered, replay, event);
    case MT_CUDA_MALLOC:
        if (mt_cuda_is_oom(event) && replay->of_torch.now[mt_device_slot(event->device)].event &&
            mt_is_of_library(replay->definitions, event->stack))
            return on_library(gathered, replay, event);
    }
    return mt_gather_frees(g, event) || mt_torch_memory_event(&g->memory, replay, event) ? -ENOMEM
                                                                                         : 0;
}

size_t mt_gathering_beside(const struct mt_gathering *g, unsigned slot)
{
    return g->device[slot].requests.others_streams;
}

static uint64_t besides_cuda(const struct mt_sample *sample)
{
    uint64_t used = sample->total - sample->free;
    return used > sample->cuda_bytes ? used - sample->cuda_bytes : 0;
}

/* Subtract the bytes that another sample also contains. */
static void settle(struct mt_sample *sample, const struct mt_sample *other)
{
    if (!mt_sample_has_bytes_twice(sample, other))
        return;
    uint64_t twice = mt_sample_besides(sample) - mt_sample_besides(other);
    uint64_t most = sample->total - sample->free;
    sample->free += twice < most ? twice : most;
    sample->own -= sample->own ? twice : 0;
}

/*
 * Correct samples by later ones. This process's memory besides CUDA's allocations does not shrink
 * while no CUDA object is destroyed, so all later samples count. If NVML does not distinguish
 * processes, only the next one does. The last samples are corrected by those before them.
 */
static void settle_samples(struct mt_gathered *gathered)
{
    enum { LAST = 3 };
    struct mt_gather_sample *sample = gathered->sample;
    size_t n = gathered->n_samples;
    struct mt_sample next = n ? sample[n - 1].of : (struct mt_sample){0};
    for (size_t i = n; i > 1; i--) {
        struct mt_sample this = sample[i - 2].of;
        settle(&sample[i - 2].of, next.own ? &sample[i - 1].of : &next);
        next = this;
    }
    for (size_t i = n > LAST ? n - LAST + 1 : 1; i < n; i++)
        if (sample[i].may_have_twice)
            settle(&sample[i].of, &sample[i - 1].of);
}

/* Return the sample that tells what else was on the card at a request. It is the one before it; at
 * a request that failed the next one, if CUDA allocated nothing in between: the context may have
 * grown since the one before, and filled the card with it. */
static const struct mt_sample *sample_at(const struct mt_gathered *gathered, size_t place)
{
    const struct mt_request_totals *totals = &gathered->requests.recorded[place];
    size_t before = totals->allocated;
    bool has_next = before < gathered->n_samples && mt_failed(&gathered->requests, place + 1) &&
                    gathered->requests.request[place + 1].kind == MT_REQUEST_ALLOCATE &&
                    gathered->sample[before].of.cuda_bytes == totals->reserved;
    return &gathered->sample[has_next ? before : before ? before - 1 : 0].of;
}

/* Add the samples to the figures from CUDA's calls. */
static void finish_others(struct mt_gathered *gathered)
{
    struct mt_requests *requests = &gathered->requests;
    requests->knows_others = gathered->n_samples > 0;
    settle_samples(gathered);
    for (size_t i = 0; i < requests->n; i++)
        if (requests->request[i].kind == MT_REQUEST_OTHERS) {
            if (gathered->n_samples)
                requests->request[i].size += besides_cuda(sample_at(gathered, i));
            requests->recorded[i].allocated = requests->recorded[i].reserved = 0;
            if (requests->most_others < requests->request[i].size)
                requests->most_others = requests->request[i].size;
        }
}

const struct mt_requests *mt_gathering_finish(struct mt_gathering *g, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < g->n_threads; i++)
        mt_gather_end_frees(g, &g->thread[i]);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        struct mt_gathered *gathered = &g->device[slot];
        if (mt_gather_finish_held(gathered))
            return NULL;
        finish_others(gathered);
        mt_gather_finish_limits(g, &gathered->requests);
        gathered->requests.confs = g->conf;
        gathered->requests.n_confs = g->n_confs;
        if (!gathered->requests.allocs && !gathered->requests.ooms)
            continue;
        if (MT_GROW(g->result, g->results_capacity, *n))
            return NULL;
        g->result[(*n)++] = gathered->requests;
    }
    return g->result;
}
