/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's segments on a device at the moment, and the free pieces between their blocks. A piece
 * serves only requests of its pool, and a segment returns to CUDA only when it has no block left.
 */
#ifndef MT_SEGMENTS_H
#define MT_SEGMENTS_H

#include "analyzer/classify/classify.h"
#include "analyzer/model/cuda-level.h"
#include "replay.h"

/* PyTorch's allocator: blocks up to this size come from segments of the small pool, 2 MiB each. */
#define MT_SMALL_BLOCK (1u << 20)
#define MT_SMALL_SEGMENT (2u << 20)

enum mt_pool { MT_POOL_SMALL, MT_POOL_LARGE, MT_POOLS };

struct mt_segment {
    uint64_t address, size;
    uint64_t used, largest_free; /* bytes */
    uint64_t pieces;             /* free ones */
    size_t first, n_blocks;      /* its blocks are verdicts[first], ... */
    enum mt_pool pool;
    uint16_t stream_pool;          /* number in mt_stream_pools; 0: unknown */
    const struct mt_block *memory; /* CUDA's allocation, or its first piece */
};

struct mt_segments {
    struct mt_segment *segment; /* the ones with blocks, by address */
    size_t n;
    struct mt_segment *empty; /* without a block, by address */
    size_t n_empty;
    struct mt_pool_state {
        uint64_t reserved, free, largest_free, pieces, segments;
    } pool[MT_POOLS];
    size_t expandable; /* number of expandable ones */
    uint64_t unplaced; /* bytes of blocks in no segment: the trace lacks some */
};

/* Find the segments. verdicts: a device's blocks by address. Return 0 or -ENOMEM. Call
 * mt_segments_clear in any case. */
int mt_segments_find(struct mt_segments *segments, const struct mt_replay *replay, unsigned slot,
                     const struct mt_verdict *verdicts, size_t n);
void mt_segments_clear(struct mt_segments *segments);

/* Return the pool that serves a request; return the size of the segment that PyTorch would request
 * from CUDA for it. */
enum mt_pool mt_pool_of(uint64_t bytes);
uint64_t mt_segment_size_for(uint64_t bytes, int expandable);

#endif
