/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in stream order: from pools, or, while a stream captures, from its graph. */
#include <errno.h>

#include "api.h"
#include "calls.h"
#include "core/memory/pool.h"
#include "core/streams/capture.h"

#ifdef SIM_DRIVER
#define ALLOCATE cuMemAllocAsync
#define ALLOCATE_FROM cuMemAllocFromPoolAsync
#define RELEASE cuMemFreeAsync
#else
#define ALLOCATE cudaMallocAsync
#define ALLOCATE_FROM cudaMallocFromPoolAsync
#define RELEASE cudaFreeAsync
#endif

static int capture_allocation(struct sim_stream *stream, int device, size_t size, void **out)
{
    struct sim_work work = {.type = SIM_NODE_ALLOCATE};
    int error = sim_graph_memory_create(device, size, &work.memory);

    if (error)
        return error;
    error = sim_capture_add(stream, &work);
    *out = work.memory->address;
    sim_graph_memory_release(work.memory);
    return error;
}

static api_result allocate(api_pointer *out, size_t size, struct sim_pool *pool, api_stream stream)
{
    api_result result = api_enter();
    void *address = NULL;
    int error = 0;

    if (result)
        return result;
    if (!out)
        return api_code(API_INVALID_VALUE);
    if (!pool)
        pool = sim_pool_current((uintptr_t)stream <= 2 ? sim_thread.device
                                                       : sim_stream(stream)->device);
    if (size && sim_captures(stream))
        error = capture_allocation(sim_stream(stream), sim_pool_device(pool), size, &address);
    else if (size)
        error = sim_pool_allocate(pool, size, &address);
    *out = (api_pointer)(uintptr_t)address;
    return api_error(error);
}

static api_result release(api_pointer pointer, api_stream stream)
{
    void *address = (void *)(uintptr_t)pointer;
    struct sim_work work = {.type = SIM_NODE_FREE};
    api_result result = api_enter();
    int error;

    if (result || !address)
        return result;
    if (!sim_captures(stream))
        return api_error(sim_release(address, SIM_DEVICE));
    work.memory = sim_graph_memory_at(address);
    if (!work.memory)
        return api_code(API_INVALID_VALUE);
    error = sim_capture_add(sim_stream(stream), &work);
    sim_graph_memory_release(work.memory);
    return api_error(error);
}

api_result ALLOCATE(api_pointer *out, size_t size, api_stream stream)
{
    return API_CALL(cudaMallocAsync_v11020, cuMemAllocAsync, (out, size, stream),
                    allocate(out, size, NULL, stream));
}

api_result ALLOCATE_FROM(api_pointer *out, size_t size, api_pool pool, api_stream stream)
{
    return API_CALL(
        cudaMallocFromPoolAsync_v11020, cuMemAllocFromPoolAsync, (out, size, pool, stream),
        pool ? allocate(out, size, (struct sim_pool *)pool, stream) : api_code(API_INVALID_VALUE));
}

api_result RELEASE(api_pointer address, api_stream stream)
{
    return API_CALL(cudaFreeAsync_v11020, cuMemFreeAsync, (address, stream),
                    release(address, stream));
}
