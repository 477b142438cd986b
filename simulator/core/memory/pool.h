/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools: cudaMallocAsync and its kin. A pool takes memory of its device in pieces of 32 MiB,
 * keeps what is freed, and gives it back when something is waited for, down to its threshold. The
 * driver maps what is free behind any address: a pool has no fragments.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "../device/device.h"
#include "memory.h"

struct sim_pool;

/* By the numbers of CUDA, which are the same in the runtime and the driver. */
enum sim_pool_attribute {
    SIM_POOL_REUSE_FIRST = 1, /* three switches, kept and without effect */
    SIM_POOL_REUSE_LAST = 3,
    SIM_POOL_THRESHOLD = 4,
    SIM_POOL_RESERVED = 5,
    SIM_POOL_RESERVED_HIGH = 6,
    SIM_POOL_USED = 7,
    SIM_POOL_USED_HIGH = 8,
};

/* A device's own pool, the one that cudaMallocAsync uses, and the one of its graphs. NULL: no such
 * device. */
SIM_API struct sim_pool *sim_pool_default(int device);
SIM_API struct sim_pool *sim_pool_current(int device);
SIM_API struct sim_pool *sim_pool_of_graphs(int device);
/* -EINVAL: the pool is on another device. */
SIM_API int sim_pool_set_current(int device, struct sim_pool *pool);
/* limit: the most that it may reserve, in bytes; 0: as much as there is. */
SIM_API int sim_pool_create(int device, uint64_t limit, struct sim_pool **out);
/* What is allocated lives on. -EINVAL: a device's own pool. */
SIM_API int sim_pool_destroy(struct sim_pool *pool);
SIM_API int sim_pool_allocate(struct sim_pool *pool, size_t size, void **out);
SIM_API int sim_pool_device(const struct sim_pool *pool);
/* The attribute as CUDA has it: int or uint64_t. -EINVAL: unknown, or not to be set to that. */
SIM_API int sim_pool_get(const struct sim_pool *pool, int attribute, void *value);
SIM_API int sim_pool_set(struct sim_pool *pool, int attribute, const void *value);
/* Gives back what is not used, but for the first `keep` bytes. */
SIM_API void sim_pool_trim(struct sim_pool *pool, uint64_t keep);
/* Access of a device: 0 none, 1 to read, 3 to read and write. -EINVAL: it is the pool's own. */
SIM_API int sim_pool_set_access(struct sim_pool *pool, int device, unsigned access);
SIM_API int sim_pool_get_access(const struct sim_pool *pool, int device, unsigned *access);
/* Something was waited for: pools shrink to their thresholds. */
SIM_API void sim_pools_settle(void);

/* Counts memory in and out of use without addresses; the range lock is held. -ENOMEM. */
int sim_pool_count(struct sim_pool *pool, uint64_t size);
void sim_pool_uncount(struct sim_pool *pool, uint64_t size);
/* sim_pool_of_graphs when it is there already and the range lock is held. */
struct sim_pool *sim_pool_made_for_graphs(int device);
struct sim_heap *sim_pool_heap(struct sim_pool *pool);
/* Takes back what sim_pool_allocate gave; the range lock is held. */
void sim_pool_take_back(const struct sim_range *range);
/* Gives back all that the pools of a device do not use; the range lock is held. */
void sim_pools_empty(int device);
/* sim_take that empties the pools before it gives up; the range lock is held. */
int sim_take_hard(struct sim_device *device, uint64_t bytes);

#endif
