/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in stream order: from pools, or, while a stream captures, from its graph. */

#include "api/calls.h"
#include "core/memory/pool.h"
#include "core/streams/capture.h"
#include "driver.h"

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

static CUresult allocate(CUdeviceptr *out, size_t size, struct sim_pool *pool, CUstream stream)
{
    CUresult result = driver_enter();
    void *address = NULL;
    int error = 0;
    if (result)
        return result;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!pool)
        pool = sim_pool_current((uintptr_t)stream <= 2 ? sim_thread.device
                                                       : sim_stream(stream)->device);
    if (size && sim_captures(stream))
        error = capture_allocation(sim_stream(stream), sim_pool_device(pool), size, &address);
    else if (size)
        error = sim_pool_allocate(pool, size, &address);
    *out = (CUdeviceptr)(uintptr_t)address;
    return driver_result(error);
}

static CUresult release(CUdeviceptr pointer, CUstream stream)
{
    void *address = (void *)(uintptr_t)pointer;
    struct sim_work work = {.type = SIM_NODE_FREE};
    CUresult result = driver_enter();
    if (result || !address)
        return result;
    if (!sim_captures(stream))
        return driver_result(sim_release(address, SIM_DEVICE));
    work.memory = sim_graph_memory_at(address);
    if (!work.memory)
        return CUDA_ERROR_INVALID_VALUE;
    int error = sim_capture_add(sim_stream(stream), &work);
    sim_graph_memory_release(work.memory);
    return driver_result(error);
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
    return DRIVER_CALL(cuMemAllocAsync, (out, size, stream), allocate(out, size, NULL, stream));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream)
{
    return DRIVER_CALL(cuMemAllocFromPoolAsync, (out, size, pool, stream),
                       pool ? allocate(out, size, (struct sim_pool *)pool, stream)
                            : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    return DRIVER_CALL(cuMemFreeAsync, (address, stream), release(address, stream));
}
