/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools and their allocations. */
#include "core/memory/pool.h"

#include "api/calls.h"
#include "driver.h"

#include <errno.h>

enum { PINNED = 1, ON_DEVICE = 1 };

static struct sim_pool *pool_of(CUmemoryPool handle)
{
    return (struct sim_pool *)handle;
}

static CUresult hand_out(CUmemoryPool *out, struct sim_pool *pool)
{
    if (!pool)
        return CUDA_ERROR_INVALID_DEVICE;
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, int device)
{
    return hand_out(out, sim_pool_default(device));
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, int device)
{
    return hand_out(out, sim_pool_current(device));
}

CUresult cuDeviceSetMemPool(int device, CUmemoryPool pool)
{
    return driver_result(sim_pool_set_current(device, pool_of(pool)));
}

/* Return whether a pool is of device memory: only these are modelled. Host and managed memory use
 * no device memory. */
static bool is_device_memory(const CUmemLocation *location, CUmemAllocationType type)
{
    return location && (int)location->type == ON_DEVICE && (int)type == PINNED;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location,
                                CUmemAllocationType type)
{
    if (!is_device_memory(location, type))
        return CUDA_ERROR_NOT_SUPPORTED;
    return hand_out(out, sim_pool_default(location->id));
}

CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
    if (!is_device_memory(location, type))
        return CUDA_ERROR_NOT_SUPPORTED;
    return hand_out(out, sim_pool_current(location->id));
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    if (!is_device_memory(location, type))
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver_result(sim_pool_set_current(location->id, pool_of(pool)));
}

DRIVER_REPORTS(cuMemPoolCreate, (CUmemoryPool * out, const CUmemPoolProps *properties),
               (out, properties))
{
    static _Atomic bool is_noted;
    struct sim_pool *pool;
    if (!out || !properties)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device_memory(&properties->location, properties->allocType) ||
        properties->handleTypes) {
        sim_note_refusal("a memory pool of the host or for other processes", &is_noted);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    int error = sim_pool_create(properties->location.id, properties->maxSize, &pool);
    if (!error)
        *out = (CUmemoryPool)pool;
    return driver_result(error);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    return DRIVER_CALL(cuMemPoolDestroy, (pool), driver_result(sim_pool_destroy(pool_of(pool))));
}

DRIVER_REPORTS(cuMemPoolTrimTo, (CUmemoryPool pool, size_t keep), (pool, keep))
{
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    sim_pool_trim(pool_of(pool), keep);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    if (!pool || !value)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_result(sim_pool_set(pool_of(pool), (int)attribute, value));
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    if (!pool || !value)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_result(sim_pool_get(pool_of(pool), (int)attribute, value));
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
    int error = pool && access ? 0 : -EINVAL;
    for (size_t i = 0; !error && i < count; i++)
        error = (int)access[i].location.type == ON_DEVICE
                    ? sim_pool_set_access(pool_of(pool), access[i].location.id,
                                          (unsigned)access[i].flags)
                    : -EINVAL;
    return driver_result(error);
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
    unsigned access;
    if (!flags || !pool || !location || (int)location->type != ON_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    int error = sim_pool_get_access(pool_of(pool), location->id, &access);
    if (!error)
        *flags = (CUmemAccess_flags)access;
    return driver_result(error);
}
