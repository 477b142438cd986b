/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's own memory pools (cudaMallocAsync and similar): what they reserve, as CUDA reports it when
 * the program changes a pool, when memory runs out, and at the end.
 */
#ifndef MT_CUDA_POOLS_H
#define MT_CUDA_POOLS_H

#include "analyzer/model/heap.h"

#include <stdbool.h>

#define MT_KEEPS_ALL UINT64_MAX /* a release threshold */

struct mt_cuda_pool_use {
    uint64_t time_ns; /* 0: never */
    uint64_t reserved, used;
};

static inline uint64_t mt_cuda_pool_free(const struct mt_cuda_pool_use *use)
{
    return use->reserved > use->used ? use->reserved - use->used : 0;
}

struct mt_cuda_pool {
    unsigned slot;
    uint64_t handle;                      /* 0: the device's default pool */
    uint64_t threshold;                   /* bytes that it keeps when they are free */
    uint32_t stack;                       /* which set it; 0: unknown, or nobody did */
    struct mt_cuda_pool_use last, failed; /* CUDA's latest report, and when memory last ran out */
    uint64_t most_reserved, most_used;
    /* The most that was free in it while something outside of it was allocated, or not: at least so
     * many bytes; 0: unknown, or none. */
    struct {
        uint64_t bytes, time_ns, wanted;
        uint32_t stack; /* which requested that */
        bool is_exact;  /* as CUDA reported it; it had no memory left */
    } kept;
    /* Of a default pool, if the program created no other pool: bytes that its blocks have now, and
     * that it reserves at least. */
    uint64_t blocks, floor;
};

struct mt_cuda_pools {
    struct mt_cuda_pool *pool;
    size_t n, capacity;
    bool has_own; /* the program created pools: their blocks are not told apart */
};

/* Clear them; those of zeros are empty. */
void mt_cuda_pools_clear(struct mt_cuda_pools *pools);

/* Note a report of CUDA's. 0 or -ENOMEM. */
int mt_cuda_pools_event(struct mt_cuda_pools *pools, const struct mt_event *event);

/* Note a block of CUDA's that begins, or ends. */
void mt_cuda_pools_block(struct mt_cuda_pools *pools, const struct mt_block *block, bool begins);

/* The trace lacks blocks: forget what was concluded from them. */
void mt_cuda_pools_doubt(struct mt_cuda_pools *pools);

/* Note CUDA's answer to a request; before mt_cuda_pools_block. */
void mt_cuda_pools_request(struct mt_cuda_pools *pools, const struct mt_event *event);

#endif
