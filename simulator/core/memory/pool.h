/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools: cudaMallocAsync and similar calls. A pool allocates memory of its device in pieces
 * of 32 MiB, keeps freed memory, and returns it, down to its threshold, when the program waits for
 * something. The driver can map free memory at any address, so a pool does not fragment.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "../device/device.h"
#include "memory.h"

struct sim_pool;

/* By the numbers of CUDA, which are the same in the runtime and the driver. */
enum sim_pool_attribute {
    SIM_POOL_REUSE_FIRST = 1, /* three switches: stored, without effect */
    SIM_POOL_REUSE_LAST = 3,
    SIM_POOL_THRESHOLD = 4,
    SIM_POOL_RESERVED = 5,
    SIM_POOL_RESERVED_HIGH = 6,
    SIM_POOL_USED = 7,
    SIM_POOL_USED_HIGH = 8,
};

/* Return a device's own pool, the pool that cudaMallocAsync uses, and the pool of its graphs. NULL:
 * no such device. */
SIM_API struct sim_pool *sim_pool_default(int device);
SIM_API struct sim_pool *sim_pool_current(int device);
SIM_API struct sim_pool *sim_pool_of_graphs(int device);
/* Set the device's pool. -EINVAL: the pool is on another device. */
SIM_API int sim_pool_set_current(int device, struct sim_pool *pool);
/* Create a pool. limit: the most that it may reserve, in bytes; 0: no limit. */
SIM_API int sim_pool_create(int device, uint64_t limit, struct sim_pool **out);
/* Destroy a pool; its allocations stay valid. -EINVAL: a device's own pool. */
SIM_API int sim_pool_destroy(struct sim_pool *pool);
SIM_API int sim_pool_allocate(struct sim_pool *pool, size_t size, void **out);
SIM_API int sim_pool_device(const struct sim_pool *pool);
/* Read or set an attribute in CUDA's type, int or uint64_t. -EINVAL: unknown, or a value that
 * cannot be set. */
SIM_API int sim_pool_get(const struct sim_pool *pool, int attribute, void *value);
SIM_API int sim_pool_set(struct sim_pool *pool, int attribute, const void *value);
/* Free unused memory, except the first `keep` bytes. */
SIM_API void sim_pool_trim(struct sim_pool *pool, uint64_t keep);
/* Set a device's access: 0 none, 1 read, 3 read and write. -EINVAL: the pool's own device. */
SIM_API int sim_pool_set_access(struct sim_pool *pool, int device, unsigned access);
SIM_API int sim_pool_get_access(const struct sim_pool *pool, int device, unsigned *access);
/* Return all unused memory of a device's pools: a caller that needs it holds no lock. */
SIM_API void sim_pools_make_room(int device);
/* Shrink pools to their thresholds, after a wait. */
SIM_API void sim_pools_settle(void);

/* Count requested bytes in and out of use, without addresses. Needs the range lock. -ENOMEM. */
int sim_pool_count(struct sim_pool *pool, uint64_t size);
void sim_pool_uncount(struct sim_pool *pool, uint64_t size);
/* Return sim_pool_of_graphs if it exists already. Needs the range lock. */
struct sim_pool *sim_pool_made_for_graphs(int device);
struct sim_heap *sim_pool_heap(struct sim_pool *pool);
/* Return memory from sim_pool_allocate to its pool. Needs the range lock. */
void sim_pool_take_back(const struct sim_range *range);
/* Return all unused memory of a device's pools. Needs the range lock. */
void sim_pools_empty(int device);
/* Allocate as sim_allocate_bytes does, but empty the pools before failing. Needs the range lock. */
int sim_allocate_emptying(struct sim_device *device, uint64_t bytes);

#endif
