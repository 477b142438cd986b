/* SPDX-License-Identifier: Apache-2.0 */
#include "segments.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "trace-format/cuda-apis.h"

#define MIB (1ull << 20)

enum mt_pool mt_pool_of(uint64_t bytes)
{
    return bytes <= MT_SMALL_BLOCK ? MT_POOL_SMALL : MT_POOL_LARGE;
}

/* Return a segment's size as get_allocation_size and ExpandableSegment::map in
 * c10/cuda/CUDACachingAllocator.cpp do. */
uint64_t mt_segment_size_for(uint64_t bytes, int expandable)
{
    if (bytes <= MT_SMALL_BLOCK)
        return MT_SMALL_SEGMENT;
    if (expandable)
        return (bytes + 20 * MIB - 1) / (20 * MIB) * (20 * MIB);
    return bytes < 10 * MIB ? 20 * MIB : (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

MT_ORDER(by_address, struct mt_segment, MT_RISING(address))

static int collect(struct mt_segments *segments, size_t *capacity, const struct mt_heap *heap,
                   const struct mt_block_requests *requests, unsigned slot)
{
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (!mt_heap_is_remembered(heap, block) || mt_device_slot(block->device) != slot ||
            block->api == MT_API_CU_MEM_CREATE || /* its mappings have the addresses */
            mt_cuda_api_space(block->api) == MT_SPACE_TEAM)
            continue;
        if (MT_APPEND(segments->segment, *capacity, segments->n,
                      (struct mt_segment){.address = block->address,
                                          .size = block->size,
                                          .stream_pool = mt_block_request_of(requests, i).pool,
                                          .memory = block,
                                          .pool = block->size == MT_SMALL_SEGMENT ? MT_POOL_SMALL
                                                                                  : MT_POOL_LARGE}))
            return -ENOMEM;
    }
    return 0;
}

/* Join the adjacent pieces of expandable segments, since a block may span several. Their size shows
 * the pool: in the small pool they have the size of its segments. */
static void join(struct mt_segments *segments, size_t first)
{
    struct mt_segment *segment = segments->segment;
    size_t kept = first;
    if (segments->n > first)
        qsort(segment + first, segments->n - first, sizeof *segment, by_address);
    for (size_t i = first; i < segments->n; i++) {
        struct mt_segment *last = &segment[kept - 1]; /* used only if there is one */
        if (kept > first && last->address + last->size == segment[i].address &&
            last->pool == segment[i].pool && last->stream_pool == segment[i].stream_pool)
            last->size += segment[i].size;
        else
            segment[kept++] = segment[i];
    }
    segments->n = kept;
}

static int collect_all(struct mt_segments *segments, const struct mt_replay *replay, unsigned slot)
{
    const struct mt_reserve *reserve = &replay->reserved;
    size_t capacity = 0;
    int rc = collect(segments, &capacity, &replay->cuda.heap, &reserve->of_segments, slot);
    size_t first = segments->n;
    if (!rc)
        rc = collect(segments, &capacity, &replay->cuda.mapped, &reserve->of_pieces, slot);
    if (rc)
        return rc;
    join(segments, first);
    segments->expandable = segments->n - first;
    if (segments->n)
        qsort(segments->segment, segments->n, sizeof *segments->segment, by_address);
    return 0;
}

static void note_piece(struct mt_segments *segments, struct mt_segment *segment, uint64_t size)
{
    struct mt_pool_state *pool = &segments->pool[segment->pool];
    if (!size)
        return;
    pool->free += size;
    pool->pieces++;
    segment->pieces++;
    if (size > pool->largest_free)
        pool->largest_free = size;
    if (size > segment->largest_free)
        segment->largest_free = size;
}

/* Visit the blocks of a segment, from verdicts[*next] on. */
static void fill(struct mt_segments *segments, struct mt_segment *segment,
                 const struct mt_verdict *verdicts, size_t n, size_t *next)
{
    uint64_t end = segment->address + segment->size, at = segment->address;
    segment->first = *next;
    for (; *next < n && verdicts[*next].block->address < end; (*next)++) {
        const struct mt_block *block = verdicts[*next].block;
        if (block->address < at || block->size > end - block->address)
            continue; /* a damaged trace */
        note_piece(segments, segment, block->address - at);
        at = block->address + block->size;
        segment->used += block->size;
        segment->n_blocks++;
    }
    if (segment->n_blocks)
        note_piece(segments, segment, end - at);
}

int mt_segments_find(struct mt_segments *segments, const struct mt_replay *replay, unsigned slot,
                     const struct mt_verdict *verdicts, size_t n)
{
    size_t next = 0, kept = 0, capacity = 0;
    memset(segments, 0, sizeof *segments);
    if (collect_all(segments, replay, slot))
        return -ENOMEM;
    for (size_t i = 0; i < segments->n; i++) {
        struct mt_segment *segment = &segments->segment[i];
        for (; next < n && verdicts[next].block->address < segment->address; next++)
            segments->unplaced += verdicts[next].block->size;
        fill(segments, segment, verdicts, n, &next);
        bool is_cached = !segment->n_blocks && segment->memory->evidence & MT_SAW_SEGMENT;
        if (is_cached && MT_APPEND(segments->empty, capacity, segments->n_empty, *segment))
            return -ENOMEM;
        if (!segment->n_blocks)
            continue; /* fully cached, or not PyTorch's */
        segments->pool[segment->pool].reserved += segment->size;
        segments->pool[segment->pool].segments++;
        segments->segment[kept++] = *segment;
    }
    for (; next < n; next++)
        segments->unplaced += verdicts[next].block->size;
    segments->n = kept;
    return 0;
}

void mt_segments_clear(struct mt_segments *segments)
{
    free(segments->segment);
    free(segments->empty);
    memset(segments, 0, sizeof *segments);
}
