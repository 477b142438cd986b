/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"
#include "analyzer/support/grow.h"
#include "trace-format/cuda-apis.h"
#include "user-line.h"

#include <errno.h>
#include <string.h>

#define SLOT 0u /* of MT_NO_DEVICE */

void mt_host_clear(struct mt_host *host)
{
    mt_heap_clear(&host->heap);
    free(host->requested);
    memset(host, 0, sizeof *host);
}

static uint64_t requested_of(const struct mt_host *host, const struct mt_block *block)
{
    uint32_t index = mt_heap_index(&host->heap, block);
    return index < host->n_requested ? host->requested[index] : 0;
}

static int set_requested(struct mt_host *host, const struct mt_block *block, uint64_t requested)
{
    uint32_t index = mt_heap_index(&host->heap, block);
    if (index >= host->n_requested && !requested)
        return 0;
    if (mt_grow(&host->requested, &host->n_requested, index + (size_t)1, sizeof *host->requested))
        return -ENOMEM;
    host->requested[index] = requested;
    return 0;
}

static int on_request(struct mt_host *host, const struct mt_event *event)
{
    const struct mt_block *block = mt_heap_at(&host->heap, event->address);
    uint64_t requested = event->HOST_REQUEST.requested;
    return block && requested <= block->size ? set_requested(host, block, requested) : 0;
}

static int on_malloc(struct mt_host *host, const struct mt_event *event, uint64_t number,
                     uint64_t requested)
{
    struct mt_event made = *event;
    struct mt_block *old = mt_heap_at(&host->heap, event->address);
    if (!event->address)
        return 0; /* the call failed */
    if (old)
        mt_heap_end(&host->heap, old);
    made.device = MT_NO_DEVICE;
    struct mt_block *block = mt_heap_add(&host->heap, &made);
    if (!block)
        return -ENOMEM;
    if (mt_block_set_event(block, number) || set_requested(host, block, requested))
        return -ENOMEM;
    block->api = (uint8_t)event->CUDA_MALLOC.api;
    uint64_t bytes = host->heap.total[SLOT].bytes;
    if (bytes <= host->most)
        return 0;
    host->most = bytes;
    host->most_ns = event->time_ns;
    host->most_event = number;
    if (!host->has_moment)
        mt_heap_remember(&host->heap, SLOT);
    return 0;
}

static void on_free(struct mt_host *host, const struct mt_event *event)
{
    struct mt_block *block = mt_heap_at(&host->heap, event->address);
    host->freed.kind = 0;
    if (!block)
        return; /* from before the recording */
    host->freed = (struct mt_event){.time_ns = mt_block_time(block),
                                    .CUDA_MALLOC = {block->address, block->size, 0, block->api},
                                    .thread = block->birth->thread,
                                    .stack = block->stack,
                                    .kind = MT_CUDA_MALLOC};
    host->freed_requested = requested_of(host, block);
    mt_heap_end(&host->heap, block);
}

int mt_host_event(struct mt_host *host, const struct mt_event *event, uint64_t number)
{
    uint64_t api = event->kind == MT_CUDA_MALLOC        ? event->CUDA_MALLOC.api
                   : event->kind == MT_CUDA_FREE        ? event->CUDA_FREE.api
                   : event->kind == MT_CUDA_FREE_FAILED ? event->CUDA_FREE_FAILED.api
                                                        : MT_API_LIMIT;
    if (event->kind == MT_HOST_REQUEST)
        return on_request(host, event);
    if (mt_cuda_api_space(api) != MT_SPACE_HOST)
        return 0;
    if (event->kind == MT_CUDA_MALLOC)
        return on_malloc(host, event, number, 0);
    if (event->kind == MT_CUDA_FREE)
        on_free(host, event);
    else if (host->freed.kind && host->freed.address == event->address)
        return on_malloc(host, &host->freed, number, host->freed_requested);
    return 0;
}

void mt_host_take(struct mt_host *host)
{
    host->has_moment = true;
    mt_heap_remember(&host->heap, SLOT);
}

int mt_host_find(struct mt_sums *sums, const struct mt_host *host,
                 const struct mt_definitions *definitions)
{
    *sums = (struct mt_sums){0};
    for (uint32_t i = 1; i < host->heap.n_records; i++) {
        const struct mt_block *block = mt_heap_record(&host->heap, i);
        if (mt_heap_is_remembered(&host->heap, block) &&
            mt_sums_count(sums, mt_line_stack(definitions, block), block->size))
            return -ENOMEM;
    }
    mt_sums_sort(sums);
    return 0;
}

struct mt_host_rounding mt_host_rounding_find(const struct mt_host *host)
{
    struct mt_host_rounding found = {0};
    for (uint32_t i = 1; i < host->heap.n_records; i++) {
        const struct mt_block *block = mt_heap_record(&host->heap, i);
        if (!mt_heap_is_remembered(&host->heap, block))
            continue;
        uint64_t requested = requested_of(host, block);
        bool is_power = block->size && !(block->size & (block->size - 1));
        found.known += requested ? block->size : 0;
        found.requested += requested;
        found.powers += !requested && is_power ? block->size : 0;
        found.n_powers += !requested && is_power;
    }
    return found;
}
