/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory pools, in their first form: a pool has a handle and a release threshold, and memory that
 * is freed goes back to the device at once, so that what is reserved is what is used.
 */
#include <stdlib.h>

#include "runtime.h"

struct pool {
    int device;
    uint64_t threshold;
};

static struct pool default_pools[SIM_DEVICES_MAX];

static cudaError_t default_pool(cudaMemPool_t *out, int number)
{
    if (!sim_device(number))
        return runtime_result(cudaErrorInvalidDevice);
    default_pools[number].device = number;
    *out = (cudaMemPool_t)&default_pools[number];
    return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int number)
{
    return default_pool(out, number);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *out, int number)
{
    return default_pool(out, number);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *properties)
{
    struct pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return runtime_result(cudaErrorMemoryAllocation);
    pool->device = properties->location.id;
    *out = (cudaMemPool_t)pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    free(pool);
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    if (attribute == cudaMemPoolAttrReleaseThreshold)
        ((struct pool *)pool)->threshold = *(uint64_t *)value;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, enum cudaMemPoolAttr attribute,
                                    void *value)
{
    const struct pool *pool = (const struct pool *)handle;

    switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
        *(int *)value = 1;
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        *(uint64_t *)value = pool->threshold;
        return cudaSuccess;
    default:
        *(uint64_t *)value = 0;
        return cudaSuccess;
    }
}
