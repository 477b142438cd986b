/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-pools.h"
#include "find-real.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#define MOST_DEVICES 64
#define FILLING 1u          /* a handle that no pool has: the entry is being filled */
#define MOST_YIELDS 100000u /* while another thread reads a pool; less than a second */

/* Initialized, so that it is in .data, whose last page has room. */
static struct known {
    _Atomic uint64_t handle; /* 0: the entry is free */
    _Atomic uint32_t stack;
    int16_t device;
    bool is_default;
} known[MT_CUDA_POOLS] = {{.device = -1}};
static _Atomic int readers; /* threads that use a known handle */

/* Return a function of the driver, as mt_find_real finds it once; NULL: there is none. */
static void *driver(void *_Atomic *slot, const char *symbol)
{
    void *found = atomic_load_explicit(slot, memory_order_acquire);
    if (!found) {
        found = mt_find_real(symbol, "libcuda.so.1");
        atomic_store_explicit(slot, found, memory_order_release);
    }
    return found;
}

/* Return the handle of a device's default pool; 0: there is none. */
static uint64_t default_pool(int device)
{
    static void *_Atomic slot;
    unsigned (*get)(void **pool, int device) =
        (unsigned (*)(void **, int))driver(&slot, "cuDeviceGetDefaultMemPool");
    void *pool = NULL;
    return get && !get(&pool, device) ? (uint64_t)(uintptr_t)pool : 0;
}

static bool read_attributes(struct mt_cuda_pool_state *out, uint64_t handle)
{
    static void *_Atomic slot;
    unsigned (*get)(void *pool, int attribute, void *value) =
        (unsigned (*)(void *, int, void *))driver(&slot, "cuMemPoolGetAttribute");
    uint64_t *const value[] = {&out->threshold, &out->reserved, &out->most_reserved, &out->used,
                               &out->most_used};
    for (int i = 0; i < 5; i++)
        if (!get || get((void *)(uintptr_t)handle, MT_POOL_THRESHOLD + i, value[i]))
            return false;
    return true;
}

static struct known *find(uint64_t handle)
{
    for (struct known *pool = known; pool < known + MT_CUDA_POOLS; pool++)
        if (atomic_load(&pool->handle) == handle)
            return pool;
    return NULL;
}

/* Return the entry of a pool, a new one if it has none; NULL: there is no room. */
static struct known *find_or_add(uint64_t handle, int device, bool is_default)
{
    struct known *pool = find(handle);
    while (!pool && (pool = find(0))) {
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&pool->handle, &none, FILLING)) {
            pool = NULL;
            continue;
        }
        pool->device = (int16_t)device;
        pool->is_default = is_default;
        atomic_store(&pool->stack, 0);
        atomic_store(&pool->handle, handle);
    }
    return pool;
}

void mt_cuda_pools_add(uint64_t handle, int device)
{
    find_or_add(handle, device, false);
}

void mt_cuda_pools_remove(uint64_t handle)
{
    struct known *pool = find(handle);
    int saved = errno;
    if (pool)
        atomic_store(&pool->handle, 0);
    for (unsigned i = 0; pool && i < MOST_YIELDS && atomic_load(&readers); i++)
        sched_yield();
    errno = saved;
}

/* Return the device whose default pool it is; -1: none. */
static int device_of_default(uint64_t handle)
{
    for (int device = 0; device < MOST_DEVICES; device++) {
        uint64_t pool = default_pool(device);
        if (!pool || pool == handle)
            return pool ? device : -1;
    }
    return -1;
}

bool mt_cuda_pool_read(struct mt_cuda_pool_state *out, uint64_t handle, int device, bool is_set,
                       uint32_t stack)
{
    struct known *pool = find(handle);
    int owner = pool ? -1 : device_of_default(handle);
    if (owner >= 0)
        pool = find_or_add(handle, owner, true);
    if (pool && is_set)
        atomic_store(&pool->stack, stack);
    *out =
        (struct mt_cuda_pool_state){.pool = owner >= 0 || (pool && pool->is_default) ? 0 : handle,
                                    .stack = pool ? atomic_load(&pool->stack) : stack,
                                    .device = pool         ? pool->device
                                              : owner >= 0 ? owner
                                                           : device};
    return read_attributes(out, handle);
}

bool mt_cuda_pools_next(struct mt_cuda_pool_state *out, uint64_t devices, unsigned *next)
{
    bool is_found = false;
    for (int device = 0; !*next && device < MOST_DEVICES; device++) {
        uint64_t pool = devices >> device & 1 ? default_pool(device) : 0;
        if (pool)
            find_or_add(pool, device, true);
    }
    atomic_fetch_add(&readers, 1);
    while (!is_found && *next < MT_CUDA_POOLS) {
        struct known *pool = &known[(*next)++];
        uint64_t handle = atomic_load(&pool->handle);
        is_found = handle > FILLING && devices >> pool->device & 1 &&
                   mt_cuda_pool_read(out, handle, pool->device, false, 0) &&
                   (out->most_reserved || out->reserved || out->threshold);
    }
    atomic_fetch_sub(&readers, 1);
    return is_found;
}

void mt_cuda_pools_reset(void)
{
    for (struct known *pool = known; pool < known + MT_CUDA_POOLS; pool++)
        atomic_store(&pool->handle, 0);
    atomic_store(&readers, 0);
}
