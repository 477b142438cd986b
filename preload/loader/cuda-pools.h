/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's memory pools (cudaMallocAsync and similar), as the driver describes them. The program's
 * own pools are known from their creation to their end, a device's default pool once it is read.
 * At most MT_CUDA_POOLS are kept. Any thread. Nothing here allocates memory.
 */
#ifndef MT_PRELOAD_CUDA_POOLS_H
#define MT_PRELOAD_CUDA_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#define MT_CUDA_POOLS 16u

enum { /* CUmemPool_attribute */
       MT_POOL_THRESHOLD = 4,
       MT_POOL_RESERVED,
       MT_POOL_MOST_RESERVED,
       MT_POOL_USED,
       MT_POOL_MOST_USED,
};

struct mt_cuda_pool_state {
    uint64_t pool;      /* its handle; 0: the device's default pool */
    uint64_t threshold; /* bytes that it keeps when they are free */
    uint64_t reserved, used, most_reserved, most_used; /* bytes */
    uint32_t stack; /* where the threshold was last set; 0: unknown, or never */
    int device;
};

/* Note a pool that the program has created on a device; and that it is about to destroy it. */
void mt_cuda_pools_add(uint64_t handle, int device);
void mt_cuda_pools_remove(uint64_t handle);

/* Read the pool with this handle, which is valid; its device is not known to be another than
 * `device`. Return false if the driver does not answer. With is_set, stack is where the program has
 * just set its threshold. */
bool mt_cuda_pool_read(struct mt_cuda_pool_state *out, uint64_t handle, int device, bool is_set,
                       uint32_t stack);

/* Read the next pool of these devices (bits) that has reserved memory or that keeps some, from
 * *next on, which is 0 at first. Return false if there is none. */
bool mt_cuda_pools_next(struct mt_cuda_pool_state *out, uint64_t devices, unsigned *next);

/* Forget all pools, in a forked child. */
void mt_cuda_pools_reset(void);

#endif
