/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that PyTorch's allocator has reserved but not allocated, by what prevents its use. This is
 * the only place that decides what is fragmentation: memory cached for another stream or pool, and
 * whole segments, are not.
 */
#ifndef MT_CACHED_H
#define MT_CACHED_H

#include "analyzer/replay/replay.h"
#include "analyzer/replay/segments.h"

/* A stream's pool, or a private one. */
struct mt_cached_pool {
    uint64_t stream, pool; /* handles */
    uint16_t number;       /* number in mt_stream_pools; 0: unknown */
    bool is_private, is_of_graphs;
    char name[96]; /* "default stream", "side stream 2", "private pool of graph 1", "MemPool (0, 1)"
                    */
    uint32_t stack; /* the line that requested most of its segments (the largest segment, at the
                       peak of reserved) */
    uint64_t reserved, allocated;
    /* Free memory, except at the peak of reserved: in segments without blocks, and between blocks.
     */
    uint64_t whole, n_whole, in_pieces, pieces, largest;
};

struct mt_cached {
    struct mt_cached_pool *pool; /* the one with the most reserved first */
    size_t n;                    /* 0: the trace lacks the segments */
    size_t own; /* the pool of the failed request, or else the one with the most allocated bytes */
    uint64_t others; /* free in all other pools; in `own`: */
    uint64_t whole, in_pieces;
    /* At most so many bytes less would be reserved if all graphs shared a pool: all that their
     * pools have except the largest. Graphs that may run at the same time cannot. 0: there are no
     * two. */
    uint64_t sharing;
};

/* Find what is cached on a device at the moment. segments: the device's, including empty ones.
 * most: the free bytes by PyTorch's totals; if segments have more, they are unreliable and ignored.
 * own: the requesting pool (mt_stream_pools); 0: unknown. Return 0 or -ENOMEM. Call mt_cached_clear
 * in any case. */
int mt_cached_find(struct mt_cached *cached, const struct mt_replay *replay,
                   const struct mt_segments *segments, uint64_t most, uint16_t own);

/* Find the pools when the device's reserved memory was highest. */
int mt_cached_find_most(struct mt_cached *cached, const struct mt_replay *replay, unsigned slot);
void mt_cached_clear(struct mt_cached *cached);

/* Return the kind with most of the free memory; MT_FREE_KINDS: no kind has half. */
enum mt_free_kind mt_cached_kind(const struct mt_cached *cached);

/* JSON's names: "pieces", "whole_segments", "other_pools". */
extern const char *const mt_free_kind_names[MT_FREE_KINDS];

#endif
