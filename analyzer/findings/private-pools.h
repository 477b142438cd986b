/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments that PyTorch's allocator keeps for a single use: a CUDA graph, a torch.cuda.MemPool.
 * Their free memory serves nothing else.
 */
#ifndef MT_PRIVATE_POOLS_H
#define MT_PRIVATE_POOLS_H

#include "analyzer/replay/replay.h"

#define MT_PRIVATE_POOLS 6u

struct mt_private_pools {
    struct mt_private_pool {
        char name[96];
        uint64_t reserved, used; /* bytes */
    } pool[MT_PRIVATE_POOLS];    /* the largest reserved first */
    size_t n;
    uint64_t free; /* in all pools, including those without room here */
};

/* Find the private pools of the slot's device at the moment; verdicts: on its blocks by address. 0
 * or -ENOMEM. */
int mt_private_pools_find(struct mt_private_pools *pools, const struct mt_replay *replay,
                          unsigned slot, const struct mt_verdict *verdicts, size_t n);

/* Return whether a segment belongs to a private pool, by the names in the recording. */
bool mt_is_private_segment(const struct mt_replay *replay, const struct mt_block *segment);

/* Name the private pool of a segment. Graphs that share one have one name: "graphs in pool (0, 1)".
 */
void mt_private_pool_text(char *out, size_t size, const struct mt_replay *replay,
                          const struct mt_block *segment);

/* Name the purpose of a segment: its MemPool, or else the range, or the line, or the call. */
void mt_segment_text(char *out, size_t size, const struct mt_replay *replay,
                     const struct mt_block *segment);

#endif
