/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "runtime.h"

static cudaError_t allocate(enum sim_kind kind, size_t size, unsigned flags, void **out)
{
    int error = sim_enter();

    if (!out)
        return runtime_result(cudaErrorInvalidValue);
    *out = NULL;
    if (!error && size)
        error = sim_allocate(kind, sim_thread.device, size, flags, out);
    return runtime_error(error);
}

/* Freeing nothing is fine, and brings up the context: programs call cudaFree(0) for that. */
static cudaError_t release(void *address, int kinds)
{
    int error = sim_enter();

    if (!error && address)
        error = sim_release(address, kinds);
    return runtime_error(error);
}

cudaError_t cudaMalloc(void **out, size_t size)
{
    return allocate(SIM_DEVICE, size, 0, out);
}

cudaError_t cudaMallocAsync(void **out, size_t size, cudaStream_t stream)
{
    (void)stream;
    return allocate(SIM_DEVICE, size, 0, out);
}

cudaError_t cudaMallocFromPoolAsync(void **out, size_t size, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    (void)pool;
    (void)stream;
    return allocate(SIM_DEVICE, size, 0, out);
}

cudaError_t cudaMallocManaged(void **out, size_t size, unsigned int flags)
{
    return allocate(SIM_MANAGED, size, flags, out);
}

cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    size_t size;

    if (!pitch || width > SIZE_MAX - 511)
        return runtime_result(cudaErrorInvalidValue);
    *pitch = (width + 511) & ~(size_t)511;
    if (__builtin_mul_overflow(*pitch, height, &size))
        return runtime_result(cudaErrorMemoryAllocation);
    return allocate(SIM_DEVICE, size, 0, out);
}

cudaError_t cudaFree(void *address)
{
    return release(address, SIM_DEVICE | SIM_MANAGED);
}

cudaError_t cudaFreeAsync(void *address, cudaStream_t stream)
{
    (void)stream;
    return release(address, SIM_DEVICE);
}

cudaError_t cudaHostAlloc(void **out, size_t size, unsigned int flags)
{
    return allocate(SIM_HOST, size, flags, out);
}

cudaError_t cudaMallocHost(void **out, size_t size)
{
    return allocate(SIM_HOST, size, 0, out);
}

cudaError_t cudaFreeHost(void *address)
{
    return release(address, SIM_HOST);
}

cudaError_t cudaHostRegister(void *address, size_t size, unsigned int flags)
{
    int error = sim_enter();

    return runtime_error(error ? error : sim_register(address, size, flags));
}

cudaError_t cudaHostUnregister(void *address)
{
    int error = sim_enter();

    if (error)
        return runtime_error(error);
    return runtime_result(sim_unregister(address) ? cudaErrorHostMemoryNotRegistered : cudaSuccess);
}

cudaError_t cudaHostGetDevicePointer(void **out, void *host, unsigned int flags)
{
    struct sim_range range;

    (void)flags;
    if (!sim_find(host, &range))
        return runtime_result(cudaErrorInvalidValue);
    *out = host;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *host)
{
    struct sim_range range;

    if (!sim_find(host, &range) || !(range.kind & (SIM_HOST | SIM_REGISTERED)))
        return runtime_result(cudaErrorInvalidValue);
    *flags = range.flags;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    struct sim_device *device;
    cudaError_t error = runtime_enter(&device);

    if (error)
        return error;
    *total = device->total;
    *available = device->total - device->used;
    return cudaSuccess;
}

/* Memory that we know, by the type that the runtime gives it. */
static enum cudaMemoryType type_of(const struct sim_range *range)
{
    switch (range->kind) {
    case SIM_MANAGED:
        return cudaMemoryTypeManaged;
    case SIM_HOST:
    case SIM_REGISTERED:
        return cudaMemoryTypeHost;
    default:
        return cudaMemoryTypeDevice;
    }
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    void *pointer = (void *)(uintptr_t)address;
    struct sim_range range;
    uintptr_t start;
    size_t size;

    *attributes = (struct cudaPointerAttributes){
        .type = cudaMemoryTypeUnregistered, .device = cudaInvalidDeviceId, .hostPointer = pointer};
    if (!sim_find(address, &range))
        return cudaSuccess;
    if (range.kind == SIM_RESERVED && sim_mapping_at(address, &start, &size, &range.device))
        return cudaSuccess;
    attributes->type = type_of(&range);
    attributes->device = range.device;
    attributes->devicePointer = pointer;
    if (attributes->type == cudaMemoryTypeDevice)
        attributes->hostPointer = NULL;
    return cudaSuccess;
}
