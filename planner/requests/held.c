/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's allocator had before the recording began: its segments, piece by piece. */
#include "analyzer/support/search.h"
#include "inside.h"

#include <stdlib.h>

/* Addresses of CUDA's fall, as those of the model do; within a segment the pieces' rise. */
MT_ORDER(newest_last, struct mt_gather_segment, MT_FALLING(address))
MT_ORDER(lowest_first, struct mt_gather_held, MT_RISING(address))

static int add(struct mt_requests *requests, size_t *capacity, struct mt_held_piece piece)
{
    return piece.size ? MT_APPEND(requests->held, *capacity, requests->n_held, piece) : 0;
}

/* Return the first block at or after the address. */
static size_t find(const struct mt_gathered *gathered, uint64_t address)
{
    return MT_LEADING(i, gathered->n_blocks, gathered->held[i].address < address);
}

/* Add the pieces of a segment. 0; -ENOMEM; -EINVAL: its blocks are not parts of it. */
static int add_segment(struct mt_gathered *gathered, const struct mt_gather_segment *segment,
                       size_t *capacity, size_t *placed)
{
    struct mt_requests *requests = &gathered->requests;
    uint64_t at = segment->address, end = segment->address + segment->size;
    struct mt_held_piece piece = {
        .stream = segment->stream, .pool = segment->pool, .is_first = true};
    for (size_t i = find(gathered, at); i < gathered->n_blocks; i++, ++*placed) {
        const struct mt_gather_held *block = &gathered->held[i];
        if (block->address >= end)
            break;
        if (block->address < at || block->size > end - block->address)
            return -EINVAL;
        struct mt_held_piece free = piece, used = piece;
        free.size = block->address - at;
        free.is_free = true;
        used.is_first = piece.is_first && !free.size;
        used.size = block->size;
        used.requested = block->requested;
        used.block = block->number;
        if (add(requests, capacity, free) || add(requests, capacity, used))
            return -ENOMEM;
        piece.is_first = false;
        at = block->address + block->size;
    }
    piece.size = end - at;
    piece.is_free = true;
    return add(requests, capacity, piece);
}

int mt_gather_finish_held(struct mt_gathered *gathered)
{
    struct mt_requests *requests = &gathered->requests;
    size_t capacity = 0, placed = 0;
    int rc = 0;
    if (gathered->n_segments)
        qsort(gathered->segment, gathered->n_segments, sizeof *gathered->segment, newest_last);
    if (gathered->n_blocks)
        qsort(gathered->held, gathered->n_blocks, sizeof *gathered->held, lowest_first);
    for (size_t i = 0; i < gathered->n_segments && !rc; i++)
        rc = add_segment(gathered, &gathered->segment[i], &capacity, &placed);
    if (rc == -EINVAL || placed < gathered->n_blocks)
        requests->n_held = 0;
    return rc == -ENOMEM ? rc : 0;
}

int mt_gather_segment(void *gathering, const struct mt_torch_segment *segment,
                      const struct mt_event *call)
{
    struct mt_gathering *g = gathering;
    struct mt_gathered *gathered = &g->device[segment->slot];
    unsigned stream, pool = mt_gather_pool(segment->pool_number);
    (void)call;
    if (!segment->is_before)
        return 0;
    if (mt_gather_stream(gathered, segment->stream, &stream))
        return -ENOMEM;
    struct mt_gather_segment held = {.address = segment->address,
                                     .size = segment->size,
                                     .stream = (uint16_t)stream,
                                     .pool = (uint16_t)pool};
    return MT_APPEND(gathered->segment, gathered->segments_capacity, gathered->n_segments, held);
}

int mt_gather_block(struct mt_gathered *gathered, const struct mt_torch_block *block)
{
    struct mt_gather_held held = {.address = block->address,
                                  .size = block->size,
                                  .requested = block->size - block->unused,
                                  .number = block->number};
    gathered->requests.is_late = true;
    return MT_APPEND(gathered->held, gathered->blocks_capacity, gathered->n_blocks, held);
}
