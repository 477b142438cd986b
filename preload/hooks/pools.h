/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private pools of PyTorch's allocator, for CUDA graphs and torch.cuda.MemPool, whose segments
 * serve nothing else. No exported function returns the pool that a thread allocates in. It is
 * derived from what `use_mem_pool` requests from a pool and from how a capture begins.
 */
#ifndef MT_PRELOAD_POOLS_H
#define MT_PRELOAD_POOLS_H

#include "trace-format/likely.h"

#include <stddef.h>
#include <stdint.h>

struct mt_pool_id { /* PyTorch's: a std::pair; zeros: none */
    uint64_t first, second;
};

/* The MemPool that this thread allocates in; zeros: none known. */
extern _Thread_local struct mt_pool_id mt_pool_in_use __attribute__((tls_model("initial-exec")));

/* If `caller`, the code that called a hook, is PyTorch's allocator: name the memory that CUDA gave
 * it, by its address or its handle, after the MemPool. */
void mt_pool_name_segment(unsigned result, const void *address, const void *caller);

static inline void mt_pool_took(unsigned result, const void *address, const void *caller)
{
    if (MT_UNLIKELY(mt_pool_in_use.first | mt_pool_in_use.second))
        mt_pool_name_segment(result, address, caller);
}

/* Write the name of the number-th capture, which this thread has begun: "graph 2 in graph 1's
 * pool". */
void mt_pool_capture_name(char *out, size_t size, unsigned number);

/* Return the number of the first capture in this pool, which may be this one, the number-th. */
unsigned mt_pools_first_capture(struct mt_pool_id pool, unsigned number);

/* Forget the pools of captures; for a forked child. */
void mt_pools_reset(void);

#endif
