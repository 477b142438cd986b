/* SPDX-License-Identifier: Apache-2.0 */
#include "gather.h"
#include "inside.h"

#include <stdlib.h>
#include <string.h>

struct mt_gathering *mt_gathering_create(void)
{
    struct mt_gathering *g = calloc(1, sizeof *g);
    for (unsigned slot = 0; g && slot < MT_DEVICES; slot++)
        g->device[slot].others = UINT64_MAX; /* to be told */
    return g;
}

void mt_gathering_destroy(struct mt_gathering *g)
{
    if (!g)
        return;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        struct mt_asking *asking = &g->device[slot];
        free(asking->asked.request);
        free(asking->asked.recorded);
        free(asking->free_number);
        free(asking->sample);
        mt_address_map_clear(&asking->streams);
        mt_address_map_clear(&asking->pools);
    }
    mt_address_map_clear(&g->threads);
    mt_address_map_clear(&g->live);
    mt_address_map_clear(&g->waiting);
    mt_address_map_clear(&g->segments);
    free(g->thread);
    free(g->segment);
    free(g->conf);
    free(g->result);
    free(g);
}

int mt_gather_ask(struct mt_asking *asking, const struct mt_gather_at *at,
                  struct mt_request request)
{
    struct mt_asked *asked = &asking->asked;
    if (MT_GROW(asked->request, asking->requests_capacity, asked->n) ||
        MT_GROW(asked->recorded, asking->recorded_capacity, asked->n))
        return -ENOMEM;
    asked->request[asked->n] = request;
    asked->recorded[asked->n++] =
        (struct mt_asked_at){at->event, at->allocated, at->reserved, at->stack, at->forward};
    return 0;
}

static struct mt_gather_thread *thread_of(struct mt_gathering *g, uint32_t thread)
{
    uint32_t place = MT_PLACE_OF(&g->threads, thread, g->thread, g->threads_capacity, g->n_threads);
    return place ? &g->thread[place - 1] : NULL;
}

/* Return the number of a stream's handle, from 1 on, in the order in which they come; the last one
 * stands for all after it. */
static int number_of(struct mt_address_map *map, uint64_t handle, unsigned *number)
{
    enum { MOST = MT_GATHER_OTHER_STREAM - 1 };
    *number = handle ? mt_address_map_get(map, handle) : 0;
    if (!handle || *number)
        return 0;
    *number = map->used + 1 < MOST ? (unsigned)map->used + 1 : MOST;
    return mt_address_map_put(map, handle, *number);
}

/* Return a number for a block, as small as it can be. */
static uint32_t new_number(struct mt_asking *asking)
{
    return asking->n_free ? asking->free_number[--asking->n_free] : asking->next_number++;
}

static int give_back_number(struct mt_asking *asking, uint32_t number)
{
    return MT_APPEND(asking->free_number, asking->free_capacity, asking->n_free, number);
}

/* Note memory of the card that is not PyTorch's, as CUDA's calls say it: what the samples say
 * besides is added at the end. */
static int note_others(struct mt_asking *asking, const struct mt_replay *replay, unsigned slot,
                       const struct mt_gather_at *at)
{
    uint64_t cuda = replay->of_cuda.now[slot].allocated;
    uint64_t others = cuda > at->reserved ? cuda - at->reserved : 0;
    if (others == asking->others)
        return 0;
    asking->others = others;
    struct mt_gather_at base = {.event = at->event, .allocated = asking->n_samples};
    return mt_gather_ask(asking, &base,
                         (struct mt_request){.size = others, .kind = MT_REQUEST_OTHERS});
}

static int free_block(struct mt_gathering *g, struct mt_asking *asking,
                      const struct mt_gather_at *at, uint64_t address, bool waits)
{
    uint32_t number = mt_address_map_take(&g->live, address);
    if (!number) {
        asking->asked.from_before++;
        return 0;
    }
    number--;
    asking->asked.frees++;
    if (waits) { /* which stream it is, does not count: another one */
        asking->asked.waits++;
        struct mt_request use = {
            .block = number, .stream = MT_GATHER_OTHER_STREAM, .kind = MT_REQUEST_RECORD_STREAM};
        if (mt_gather_ask(asking, &(struct mt_gather_at){.event = at->event}, use) ||
            mt_address_map_put(&g->waiting, address, number + 1))
            return -ENOMEM;
    } else if (give_back_number(asking, number)) {
        return -ENOMEM;
    }
    return mt_gather_ask(asking, at, (struct mt_request){.block = number, .kind = MT_REQUEST_FREE});
}

/* End the wait of the block at an address. */
static int end_wait(struct mt_gathering *g, struct mt_asking *asking, uint64_t event,
                    uint64_t address)
{
    uint32_t number = mt_address_map_take(&g->waiting, address);
    if (!number)
        return 0;
    struct mt_request done = {.block = number - 1, .kind = MT_REQUEST_COMPLETE};
    return mt_gather_ask(asking, &(struct mt_gather_at){.event = event}, done)
               ? -ENOMEM
               : give_back_number(asking, number - 1);
}

/* Return the number of a private pool, which begins with its first request: a handle may be that of
 * another pool once its own is released. */
static int pool_of(struct mt_asking *asking, const struct mt_gather_at *at, uint64_t handle,
                   unsigned *pool)
{
    *pool = handle ? mt_address_map_get(&asking->pools, handle) : 0;
    if (!handle || (*pool && !asking->is_released[*pool]))
        return 0;
    *pool = asking->n_pools < MT_GATHER_MOST_POOLS ? asking->n_pools + 1 : MT_GATHER_MOST_POOLS;
    if (mt_address_map_put(&asking->pools, handle, *pool))
        return -ENOMEM;
    if (*pool == asking->n_pools)
        return 0;
    asking->n_pools = *pool;
    struct mt_request create = {.pool = *pool & MT_GATHER_MOST_POOLS,
                                .kind = MT_REQUEST_POOL_CREATE};
    return mt_gather_ask(asking, &(struct mt_gather_at){.event = at->event}, create);
}

/* Add an allocation of a block that has `size` bytes, of which some were not requested. */
static int on_request(struct mt_gathering *g, struct mt_asking *asking,
                      struct mt_gather_thread *thread, const struct mt_replay *replay,
                      const struct mt_event *event, const struct mt_gather_at *at, uint64_t size,
                      uint64_t unused, uint32_t *number)
{
    unsigned stream = 0, pool = 0;
    const struct mt_request_stream *of =
        mt_requests_of(&replay->present.thread->requests, mt_device_slot(event->device));
    if (of &&
        (number_of(&asking->streams, of->stream, &stream) || pool_of(asking, at, of->pool, &pool)))
        return -ENOMEM;
    asking->asked.others_streams += stream != 0;
    asking->asked.private_allocs += pool != 0;
    if (mt_gather_segment(g, thread, event, pool))
        return -ENOMEM;
    *number = new_number(asking);
    return mt_gather_ask(asking, at,
                         (struct mt_request){.size = of && unused < size ? size - unused
                                                     : size              ? size
                                                                         : 1,
                                             .block = *number,
                                             .stream = (uint16_t)stream,
                                             .pool = pool & MT_GATHER_MOST_POOLS,
                                             .kind = MT_REQUEST_ALLOCATE});
}

static struct mt_gather_at place_of(const struct mt_replay *replay, const struct mt_event *event,
                                    uint64_t allocated, uint64_t reserved)
{
    const struct mt_thread_state *thread = replay->present.thread;
    uint32_t forward =
        thread && thread->at.n_nodes ? thread->at.nodes[thread->at.n_nodes - 1].forward_stack : 0;
    return (struct mt_gather_at){replay->events, allocated, reserved, event->stack, forward};
}

static int on_alloc(struct mt_gathering *g, struct mt_asking *asking,
                    struct mt_gather_thread *thread, const struct mt_replay *replay,
                    const struct mt_event *event)
{
    uint32_t number;
    unsigned slot = mt_device_slot(event->device);
    struct mt_gather_at at = place_of(replay, event, event->ALLOC.allocated, event->ALLOC.reserved);
    struct mt_asked *asked = &asking->asked;
    if (mt_gather_end_frees(g, thread) || note_others(asking, replay, slot, &at) ||
        end_wait(g, asking, at.event, event->address))
        return -ENOMEM;
    if (mt_address_map_get(&g->live, event->address) && /* its free is missing */
        free_block(g, asking, &(struct mt_gather_at){.event = at.event}, event->address, false))
        return -ENOMEM;
    asked->allocs++;
    asked->unknown += !mt_requests_of(&replay->present.thread->requests, slot);
    if (asked->peak_allocated < at.allocated)
        asked->peak_allocated = at.allocated;
    if (asked->peak_reserved < at.reserved)
        asked->peak_reserved = at.reserved;
    return on_request(g, asking, thread, replay, event, &at, event->size, replay->present.unused,
                      &number) ||
                   mt_address_map_put(&g->live, event->address, number + 1)
               ? -ENOMEM
               : 0;
}

/* Note a request that failed. PyTorch reports the size rounded. What it was for would have lived
 * from here on; nobody knows how long. */
static int on_oom(struct mt_gathering *g, struct mt_asking *asking, struct mt_gather_thread *thread,
                  const struct mt_replay *replay, const struct mt_event *event)
{
    uint32_t number;
    unsigned slot = mt_device_slot(event->device);
    struct mt_gather_at at = place_of(replay, event, event->OOM.allocated, event->OOM.reserved);
    thread->frees = 0; /* those of the request itself */
    asking->asked.ooms++;
    if (note_others(asking, replay, slot, &at) ||
        on_request(g, asking, thread, replay, event, &at, event->OOM.size, 0, &number))
        return -ENOMEM;
    struct mt_request free = {.block = number, .kind = MT_REQUEST_FREE};
    return mt_gather_ask(asking, &(struct mt_gather_at){.event = at.event}, free)
               ? -ENOMEM
               : give_back_number(asking, number);
}

/* Note what the device itself says is taken, beyond what CUDA's calls told: contexts, other
 * processes. 0 or -ENOMEM. */
static int on_sample(struct mt_asking *asking, const struct mt_replay *replay,
                     const struct mt_event *event)
{
    if (event->DEVICE_MEMORY.free > event->DEVICE_MEMORY.total)
        return 0;
    asking->asked.card = event->DEVICE_MEMORY.total;
    if (MT_APPEND(asking->sample, asking->samples_capacity, asking->n_samples,
                  replay->samples.last[mt_device_slot(event->device)]))
        return -ENOMEM;
    asking->others = UINT64_MAX; /* to be told again */
    return 0;
}

static int on_event_of_pytorch(struct mt_gathering *g, struct mt_gather_thread *thread,
                               const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_asking *asking = &g->device[mt_device_slot(event->device)];
    asking->asked.device = event->device;
    struct mt_gather_at at = {.event = replay->events,
                              .allocated = event->FREE.allocated,
                              .reserved = event->FREE.reserved};
    switch (event->kind) {
    case MT_ALLOC:
        return on_alloc(g, asking, thread, replay, event);
    case MT_OOM:
        return on_oom(g, asking, thread, replay, event);
    case MT_FREE:
        return mt_gather_end_frees(g, thread) ||
                       free_block(g, asking, &at, event->address, replay->present.waits)
                   ? -ENOMEM
                   : 0;
    default:
        return end_wait(g, asking, replay->events, event->FREE_DONE.address);
    }
}

int mt_gather(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_gathering *g = data;
    struct mt_gather_thread *thread;
    switch (event->kind) {
    case MT_ALLOC:
    case MT_FREE:
    case MT_OOM:
    case MT_FREE_DONE:
    case MT_REQUEST_STREAM:
    case MT_CUDA_MALLOC:
    case MT_CUDA_FREE:
    case MT_CUDA_MAP:
    case MT_CUDA_UNMAP:
        thread = thread_of(g, event->thread);
        break;
    case MT_EMPTY_CACHE:
    case MT_MEMORY_LIMIT:
    case MT_ALLOC_CONF:
        return mt_gather_other(g, replay, event);
    case MT_DEVICE_MEMORY:
        return on_sample(&g->device[mt_device_slot(event->device)], replay, event);
    default:
        return 0;
    }
    if (!thread)
        return -ENOMEM;
    switch (event->kind) {
    case MT_REQUEST_STREAM:
        thread->device = event->device;
        return 0;
    case MT_ALLOC:
    case MT_FREE:
    case MT_OOM:
    case MT_FREE_DONE:
        return on_event_of_pytorch(g, thread, replay, event);
    default:
        return mt_gather_cuda(g, thread, replay, event);
    }
}

size_t mt_gathering_beside(const struct mt_gathering *g, unsigned slot)
{
    return g->device[slot].asked.others_streams;
}

static uint64_t besides_cuda(const struct mt_sample *sample)
{
    uint64_t used = sample->total - sample->free;
    return used > sample->cuda_bytes ? used - sample->cuda_bytes : 0;
}

/* Take off the bytes that the sample has twice, by another one. */
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
 * Settle samples by later ones. What this process has besides CUDA's allocations does not shrink
 * while no object of CUDA's goes, so all later samples count. Where NVML does not tell this process
 * from others, only the next one does. Nothing comes after the last ones: those before settle them.
 */
static void settle_samples(struct mt_sample *sample, size_t n)
{
    enum { LAST = 3 };
    struct mt_sample next = n ? sample[n - 1] : (struct mt_sample){0};
    for (size_t i = n; i > 1; i--) {
        struct mt_sample this = sample[i - 2];
        settle(&sample[i - 2], next.own ? &sample[i - 1] : &next);
        next = this;
    }
    for (size_t i = n > LAST ? n - LAST + 1 : 1; i < n; i++)
        settle(&sample[i], &sample[i - 1]);
}

/* Add what the samples told to what CUDA's calls did. */
static void finish_others(struct mt_asking *asking)
{
    struct mt_asked *asked = &asking->asked;
    asked->knows_others = asking->n_samples > 0;
    settle_samples(asking->sample, asking->n_samples);
    for (size_t i = 0; i < asked->n; i++)
        if (asked->request[i].kind == MT_REQUEST_OTHERS) {
            size_t before = asked->recorded[i].allocated;
            asked->recorded[i].allocated = 0;
            if (asking->n_samples)
                asked->request[i].size += besides_cuda(&asking->sample[before ? before - 1 : 0]);
            if (asked->most_others < asked->request[i].size)
                asked->most_others = asked->request[i].size;
        }
}

const struct mt_asked *mt_gathering_finish(struct mt_gathering *g, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < g->n_threads; i++)
        mt_gather_end_frees(g, &g->thread[i]);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        struct mt_asking *asking = &g->device[slot];
        finish_others(asking);
        mt_gather_finish_limits(g, &asking->asked);
        asking->asked.confs = g->conf;
        asking->asked.n_confs = g->n_confs;
        if (!asking->asked.allocs && !asking->asked.ooms)
            continue;
        if (MT_GROW(g->result, g->results_capacity, *n))
            return NULL;
        g->result[(*n)++] = asking->asked;
    }
    return g->result;
}
