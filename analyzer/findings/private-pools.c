/* SPDX-License-Identifier: Apache-2.0 */
#include "private-pools.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "analyzer/support/text.h"

#include "trace-format/cuda-apis.h"
#include <string.h>

#include <stdbool.h>
#include <stdio.h>

void mt_segment_text(char *out, size_t size, const struct mt_replay *replay,
                     const struct mt_block *segment)
{
    const struct mt_definitions *d = replay->definitions;
    uint32_t user = mt_stack(d, segment->stack)->user;
    uint32_t forward = segment->node_name ? mt_stack(d, segment->forward_stack)->user : 0;
    if (segment->name)
        snprintf(out, size, "%s", mt_string(d, segment->name));
    else if (segment->range)
        mt_range_text(out, size, d, &replay->tracker.ranges, segment->range);
    else if (user)
        mt_place_text(out, size, d, user);
    else if (segment->node_name) {
        mt_short_type_name(mt_string(d, segment->node_name), out, size);
        if (forward) {
            mt_text_append(out, size, " of ");
            mt_place_text(out + strlen(out), size - strlen(out), d, forward);
        }
    } else
        snprintf(out, size, "%s", mt_cuda_api_name(segment->api));
}

static bool begins(const struct mt_definitions *d, uint32_t string, const char *beginning)
{
    return string && !strncmp(mt_string(d, string), beginning, strlen(beginning));
}

/* The names are given by preload/torch/hooks-pools.c and preload/cuda/capture.c. */
bool mt_is_private_segment(const struct mt_replay *replay, const struct mt_block *segment)
{
    return begins(replay->definitions, segment->name, "MemPool (") ||
           mt_range_is_of_graph(replay->definitions, &replay->tracker.ranges, segment->range);
}

/* Return the bytes of the memory that blocks use. */
static uint64_t used_of(const struct mt_block *memory, const struct mt_verdict *verdicts, size_t n)
{
    uint64_t end = memory->address + memory->size, used = 0;
    /* Find the first block that ends within the memory or after it. */
    size_t low =
        MT_LEADING(i, n, verdicts[i].block->address + verdicts[i].block->size <= memory->address);
    for (; low < n && verdicts[low].block->address < end; low++) {
        uint64_t first = verdicts[low].block->address, last = first + verdicts[low].block->size;
        used += (last < end ? last : end) - (first > memory->address ? first : memory->address);
    }
    return used;
}

/* Of "graph 53 in pool (0, 1)" it is "graphs in pool (0, 1)". */
void mt_private_pool_text(char *out, size_t size, const struct mt_replay *replay,
                          const struct mt_block *segment)
{
    const struct mt_ranges *ranges = &replay->tracker.ranges;
    uint32_t path = segment->name ? 0 : segment->range;
    while (path && !mt_range_is_graph(replay->definitions, &ranges->range[path]))
        path = ranges->range[path].parent;
    const char *pool =
        path ? strstr(mt_string(replay->definitions, ranges->range[path].name), " in pool ") : NULL;
    if (pool)
        snprintf(out, size, "graphs%s", pool);
    else
        mt_segment_text(out, size, replay, segment);
}

struct found {
    struct mt_private_pool *pool;
    size_t n, capacity;
};

static int add(struct found *found, const struct mt_replay *replay, const struct mt_block *segment,
               uint64_t used)
{
    struct mt_private_pool new = {.name = ""};
    size_t i = 0;
    mt_private_pool_text(new.name, sizeof new.name, replay, segment);
    while (i < found->n && strcmp(found->pool[i].name, new.name) != 0)
        i++;
    if (i == found->n) {
        if (MT_APPEND(found->pool, found->capacity, found->n, new))
            return -ENOMEM;
    }
    found->pool[i].reserved += segment->size;
    found->pool[i].used += used;
    return 0;
}

/* Return whether memory contains the address; an expandable segment contains those of its mappings.
 */
static bool has_address(const struct mt_block *memory)
{
    return memory->api != MT_API_CU_MEM_CREATE && mt_cuda_api_space(memory->api) != MT_SPACE_TEAM;
}

static int collect(struct found *found, const struct mt_replay *replay, const struct mt_heap *heap,
                   unsigned slot, const struct mt_verdict *verdicts, size_t n)
{
    int rc = 0;
    for (uint32_t i = 1; i < heap->n_records && !rc; i++) {
        const struct mt_block *memory = mt_heap_record(heap, i);
        if (mt_heap_is_remembered(heap, memory) && mt_device_slot(memory->device) == slot &&
            has_address(memory) && mt_is_private_segment(replay, memory))
            rc = add(found, replay, memory, used_of(memory, verdicts, n));
    }
    return rc;
}

MT_ORDER(by_size, struct mt_private_pool, MT_FALLING(reserved) ?: MT_BY_TEXT(name))

int mt_private_pools_find(struct mt_private_pools *pools, const struct mt_replay *replay,
                          unsigned slot, const struct mt_verdict *verdicts, size_t n)
{
    struct found found = {0};
    memset(pools, 0, sizeof *pools);
    int rc = collect(&found, replay, &replay->cuda.heap, slot, verdicts, n);
    if (!rc)
        rc = collect(&found, replay, &replay->cuda.mapped, slot, verdicts, n);
    if (found.n)
        qsort(found.pool, found.n, sizeof *found.pool, by_size);
    for (size_t i = 0; i < found.n; i++) {
        pools->free += found.pool[i].reserved - found.pool[i].used;
        if (i < MT_PRIVATE_POOLS)
            pools->pool[pools->n++] = found.pool[i];
    }
    free(found.pool);
    return rc;
}
