/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch's allocator has reserved and not handed out, by what it takes to use it: the one
 * answer to "is this fragmentation". Memory that is cached for another stream or pool, and whole
 * segments, are none.
 */
#ifndef MT_CACHED_H
#define MT_CACHED_H

#include "analyzer/replay/replay.h"
#include "analyzer/replay/segments.h"

/* A stream's pool, or a private one. */
struct mt_cached_pool {
    uint64_t stream, pool; /* handles */
    uint16_t number;       /* in mt_stream_pools; 0: not known */
    bool is_private;
    char name[96]; /* "default stream", "side stream 2", "private pool of graph 1", "MemPool (0, 1)"
                    */
    uint32_t stack; /* that requested most of its segments (the largest, at the peak of reserved) */
    uint64_t reserved, allocated;
    /* Free, unless it is the peak of reserved: in segments without blocks, and between blocks. */
    uint64_t whole, n_whole, in_pieces, pieces, largest;
};

struct mt_cached {
    struct mt_cached_pool *pool; /* the one with the most reserved first */
    size_t n;                    /* 0: the trace does not have the segments */
    size_t own;                  /* of the request that failed, or else of most allocated bytes */
    uint64_t others;             /* free in all others; in `own`: */
    uint64_t whole, in_pieces;
};

/* Find what is cached on a device at the moment. segments: its, with empty ones. most: what is
 * free, as PyTorch says it: where segments have more, they are not known. own: the pool that
 * requested (mt_stream_pools); 0: not known. 0 or -ENOMEM. Call mt_cached_clear in any case. */
int mt_cached_find(struct mt_cached *cached, const struct mt_replay *replay,
                   const struct mt_segments *segments, uint64_t most, uint16_t own);

/* Find the pools when the device's reserved memory was highest. */
int mt_cached_find_most(struct mt_cached *cached, const struct mt_replay *replay, unsigned slot);
void mt_cached_clear(struct mt_cached *cached);

/* Return where most of what is free lies; MT_FREE_KINDS: no kind has half of it. */
enum mt_free_kind mt_cached_kind(const struct mt_cached *cached);

/* JSON's names: "pieces", "whole_segments", "other_pools". */
extern const char *const mt_free_kind_names[MT_FREE_KINDS];

#endif
