/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools and their allocations. */
#include "core/memory/pool.h"

#include "api.h"
#include "calls.h"

#include <errno.h>

enum { PINNED = 1, ON_DEVICE = 1 };

static struct sim_pool *pool_of(api_pool handle)
{
    return (struct sim_pool *)handle;
}

static api_result hand_out(api_pool *out, struct sim_pool *pool)
{
    if (!pool)
        return api_code(API_INVALID_DEVICE);
    *out = (api_pool)pool;
    return api_code(API_SUCCESS);
}

api_result API(DeviceGetDefaultMemPool)(api_pool *out, int device)
{
    return hand_out(out, sim_pool_default(device));
}

api_result API(DeviceGetMemPool)(api_pool *out, int device)
{
    return hand_out(out, sim_pool_current(device));
}

api_result API(DeviceSetMemPool)(int device, api_pool pool)
{
    return api_error(sim_pool_set_current(device, pool_of(pool)));
}

/* Only pools of device memory are modelled. Host and managed memory take nothing of a device. */
static bool is_device_memory(const api_location *location, api_allocation_type type)
{
    return location && (int)location->type == ON_DEVICE && (int)type == PINNED;
}

api_result API(MemGetDefaultMemPool)(api_pool *out, api_location *location,
                                     api_allocation_type type)
{
    if (!is_device_memory(location, type))
        return api_code(API_NOT_SUPPORTED);
    return hand_out(out, sim_pool_default(location->id));
}

api_result API(MemGetMemPool)(api_pool *out, api_location *location, api_allocation_type type)
{
    if (!is_device_memory(location, type))
        return api_code(API_NOT_SUPPORTED);
    return hand_out(out, sim_pool_current(location->id));
}

api_result API(MemSetMemPool)(api_location *location, api_allocation_type type, api_pool pool)
{
    if (!is_device_memory(location, type))
        return api_code(API_NOT_SUPPORTED);
    return api_error(sim_pool_set_current(location->id, pool_of(pool)));
}

static api_result create(api_pool *out, const api_pool_properties *properties)
{
    static _Atomic int told;
    struct sim_pool *pool;
    int error;

    if (!out || !properties)
        return api_code(API_INVALID_VALUE);
    if (!is_device_memory(&properties->location, properties->allocType) ||
        properties->handleTypes) {
        sim_note_refusal("a memory pool of the host or for other processes", &told);
        return api_code(API_NOT_SUPPORTED);
    }
    error = sim_pool_create(properties->location.id, properties->maxSize, &pool);
    if (!error)
        *out = (api_pool)pool;
    return api_error(error);
}

api_result API(MemPoolCreate)(api_pool *out, const api_pool_properties *properties)
{
    return API_CALL(cudaMemPoolCreate_v11020, cuMemPoolCreate, (out, properties),
                    create(out, properties));
}

api_result API(MemPoolDestroy)(api_pool pool)
{
    return API_CALL(cudaMemPoolDestroy_v11020, cuMemPoolDestroy, (pool),
                    api_error(sim_pool_destroy(pool_of(pool))));
}

static api_result trim(api_pool pool, size_t keep)
{
    if (!pool)
        return api_code(API_INVALID_VALUE);
    sim_pool_trim(pool_of(pool), keep);
    return api_code(API_SUCCESS);
}

api_result API(MemPoolTrimTo)(api_pool pool, size_t keep)
{
    return API_CALL(cudaMemPoolTrimTo_v11020, cuMemPoolTrimTo, (pool, keep), trim(pool, keep));
}

api_result API(MemPoolSetAttribute)(api_pool pool, api_pool_attribute attribute, void *value)
{
    if (!pool || !value)
        return api_code(API_INVALID_VALUE);
    return api_error(sim_pool_set(pool_of(pool), (int)attribute, value));
}

api_result API(MemPoolGetAttribute)(api_pool pool, api_pool_attribute attribute, void *value)
{
    if (!pool || !value)
        return api_code(API_INVALID_VALUE);
    return api_error(sim_pool_get(pool_of(pool), (int)attribute, value));
}

api_result API(MemPoolSetAccess)(api_pool pool, const api_access *access, size_t count)
{
    int error = pool && access ? 0 : -EINVAL;

    for (size_t i = 0; !error && i < count; i++)
        error = (int)access[i].location.type == ON_DEVICE
                    ? sim_pool_set_access(pool_of(pool), access[i].location.id,
                                          (unsigned)access[i].flags)
                    : -EINVAL;
    return api_error(error);
}

api_result API(MemPoolGetAccess)(api_access_flags *flags, api_pool pool, api_location *location)
{
    unsigned access;
    int error;

    if (!flags || !pool || !location || (int)location->type != ON_DEVICE)
        return api_code(API_INVALID_VALUE);
    error = sim_pool_get_access(pool_of(pool), location->id, &access);
    if (!error)
        *flags = (api_access_flags)access;
    return api_error(error);
}
