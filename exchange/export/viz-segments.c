/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot's segments: what PyTorch holds from CUDA, and the blocks that tile it. */
#include "analyzer/support/search.h"
#include "viz.h"

#include <errno.h>
#include <stdlib.h>

#define SMALL_SEGMENT (UINT64_C(2) << 20)

MT_ORDER_OF_POINTERS(by_address, struct mt_torch_block, MT_RISING(address))

static void put_pair(struct mt_viz *viz, const char *key, uint64_t number)
{
    mt_pickle_key(viz->pickle, key);
    mt_pickle_number(viz->pickle, number);
}

static void put_block(struct mt_viz *viz, struct mt_pickle_list *list, uint64_t address,
                      uint64_t size, const struct mt_torch_block *request)
{
    struct mt_pickle *pickle = viz->pickle;
    mt_pickle_item(pickle, list);
    mt_pickle_dict(pickle);
    put_pair(viz, "address", address);
    put_pair(viz, "size", size);
    put_pair(viz, "requested_size", request ? size - request->unused : 0);
    mt_pickle_key(pickle, "state");
    mt_pickle_key(pickle, !request         ? "inactive"
                          : request->waits ? "active_pending_free"
                                           : "active_allocated");
    mt_viz_frames(viz, "frames", request ? request->stack : 0);
    if (request)
        mt_viz_category(viz, mt_pass_rule(viz->pass, request->event));
    mt_pickle_dict_end(pickle);
}

struct sums {
    uint64_t allocated, active, requested;
};

static struct sums sum_up(struct mt_torch_block *const *request, size_t n)
{
    struct sums sums = {0};
    for (size_t i = 0; i < n; i++) {
        sums.active += request[i]->size;
        sums.allocated += request[i]->waits ? 0 : request[i]->size;
        sums.requested += request[i]->size - request[i]->unused;
    }
    return sums;
}

static void put_segment(struct mt_viz *viz, struct mt_pickle_list *list,
                        const struct mt_torch_segment *segment,
                        struct mt_torch_block *const *request, size_t n)
{
    struct mt_pickle *pickle = viz->pickle;
    struct sums sums = sum_up(request, n);
    bool is_small = segment->size == SMALL_SEGMENT ||
                    (n && request[0]->size <= SMALL_SEGMENT / 2 && segment->is_expandable);
    mt_pickle_item(pickle, list);
    mt_pickle_dict(pickle);
    put_pair(viz, "device", viz->slot ? viz->slot - 1 : 0);
    put_pair(viz, "address", segment->address);
    put_pair(viz, "total_size", segment->size);
    put_pair(viz, "allocated_size", sums.allocated);
    put_pair(viz, "active_size", sums.active);
    put_pair(viz, "requested_size", sums.requested);
    put_pair(viz, "stream", segment->stream);
    mt_pickle_key(pickle, "segment_type");
    mt_pickle_key(pickle, is_small ? "small" : "large");
    mt_viz_pool(viz, "segment_pool_id", segment->pool_number);
    mt_pickle_key(pickle, "is_expandable");
    mt_pickle_bool(pickle, segment->is_expandable);
    mt_viz_frames(viz, "frames", segment->stack);
    mt_pickle_key(pickle, "blocks");
    struct mt_pickle_list blocks;
    uint64_t at = segment->address, end = segment->address + segment->size;
    mt_pickle_list(pickle, &blocks);
    for (size_t i = 0; i < n; i++) {
        if (request[i]->address > at)
            put_block(viz, &blocks, at, request[i]->address - at, NULL);
        put_block(viz, &blocks, request[i]->address, request[i]->size, request[i]);
        at = request[i]->address + request[i]->size;
    }
    if (at < end)
        put_block(viz, &blocks, at, end - at, NULL);
    mt_pickle_list_end(pickle, &blocks);
    mt_pickle_dict_end(pickle);
}

/* Join adjacent pieces of an expandable segment. */
static void join(struct mt_viz *viz)
{
    struct mt_torch_memory *memory = &viz->memory;
    size_t n = 0;
    for (size_t i = 0; i < memory->n_segments; i++) {
        struct mt_torch_segment *last = n ? &memory->segment[n - 1] : NULL;
        const struct mt_torch_segment *next = &memory->segment[i];
        if (next->slot != viz->slot)
            continue;
        if (last && last->is_expandable && next->is_expandable && last->stream == next->stream &&
            last->pool_number == next->pool_number && last->address + last->size == next->address)
            last->size += next->size;
        else
            memory->segment[n++] = *next;
    }
    memory->n_segments = n;
}

/* Write the segments. Blocks outside all segments (the trace lacks its beginning) become segments
 * of their own. */
int mt_viz_segments(struct mt_viz *viz, struct mt_pickle_list *list)
{
    struct mt_torch_memory *memory = &viz->memory;
    struct mt_torch_block **live = calloc(memory->n_blocks + 1, sizeof *live);
    size_t n = 0, next = 0;
    if (!live)
        return -ENOMEM;
    for (size_t i = 0; i < memory->n_blocks; i++)
        if (memory->block[i].event && memory->block[i].slot == viz->slot)
            live[n++] = &memory->block[i];
    qsort(live, n, sizeof(struct mt_torch_block *), by_address);
    join(viz);
    for (size_t i = 0; i <= memory->n_segments; i++) {
        const struct mt_torch_segment *segment =
            i < memory->n_segments ? &memory->segment[i] : NULL;
        for (; next < n && (!segment || live[next]->address < segment->address); next++)
            put_segment(viz, list,
                        &(struct mt_torch_segment){.address = live[next]->address,
                                                   .size = live[next]->size,
                                                   .stream = live[next]->stream,
                                                   .pool_number = live[next]->pool_number},
                        &live[next], 1);
        size_t first = next;
        while (segment && next < n && live[next]->address < segment->address + segment->size &&
               live[next]->size <= segment->address + segment->size - live[next]->address &&
               (next == first ||
                live[next]->address >= live[next - 1]->address + live[next - 1]->size))
            next++;
        if (segment)
            put_segment(viz, list, segment, &live[first], next - first);
    }
    free(live);
    return viz->rc;
}
