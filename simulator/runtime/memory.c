/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "api/calls.h"
#include "core/memory/vmm.h"
#include "core/streams/capture.h"
#include "runtime.h"

/*
 * The driver's call under the runtime's: CUPTI reports it too. Its result is the driver's code for
 * `error`.
 */
static CUresult driver_code(int error)
{
    return error == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY
           : error          ? CUDA_ERROR_INVALID_VALUE
                            : CUDA_SUCCESS;
}

static int allocate_below(enum sim_kind kind, size_t size, unsigned flags, void **out)
{
    CUdeviceptr *pointer = (CUdeviceptr *)(void *)out;
    int error;

#define BELOW driver_code(error = sim_allocate(kind, sim_thread.device, size, flags, out))
    if (kind == SIM_DEVICE)
        (void)DRIVER_CALL(cuMemAlloc_v2, (pointer, size), BELOW);
    else if (kind == SIM_MANAGED)
        (void)DRIVER_CALL(cuMemAllocManaged, (pointer, size, flags), BELOW);
    else
        (void)DRIVER_CALL(cuMemHostAlloc, (out, size, flags), BELOW);
#undef BELOW
    return error;
}

static int release_below(void *address, int kinds)
{
    int error;

    if (kinds & SIM_HOST)
        (void)DRIVER_CALL(cuMemFreeHost, (address),
                          driver_code(error = sim_release(address, kinds)));
    else
        (void)DRIVER_CALL(cuMemFree_v2, ((CUdeviceptr)(uintptr_t)address),
                          driver_code(error = sim_release(address, kinds)));
    return error;
}

static cudaError_t allocate(enum sim_kind kind, size_t size, unsigned flags, void **out)
{
    int error = sim_enter();

    if (!out)
        return runtime_result(cudaErrorInvalidValue);
    *out = NULL;
    if (sim_capture_forbids())
        return runtime_result(cudaErrorStreamCaptureUnsupported);
    if (!error && size)
        error = allocate_below(kind, size, flags, out);
    return runtime_error(error);
}

/* Freeing nothing is fine, and brings up the context: programs call cudaFree(0) for that. */
static cudaError_t release(void *address, int kinds)
{
    int error = sim_enter();

    if (!error && address && sim_capture_forbids())
        return runtime_result(cudaErrorStreamCaptureUnsupported);
    if (!error && address)
        error = release_below(address, kinds);
    return runtime_error(error);
}

cudaError_t cudaMalloc(void **out, size_t size)
{
    return RUNTIME_CALL(cudaMalloc_v3020, (out, size), allocate(SIM_DEVICE, size, 0, out));
}

cudaError_t cudaMallocManaged(void **out, size_t size, unsigned int flags)
{
    return RUNTIME_CALL(cudaMallocManaged_v6000, (out, size, flags),
                        allocate(SIM_MANAGED, size, flags, out));
}

/* Rows lie 512 bytes apart, or a multiple of that. */
static cudaError_t allocate_rows(void **out, size_t *pitch, size_t width, size_t height)
{
    size_t size;

    if (!pitch || width > SIZE_MAX - 511)
        return runtime_result(cudaErrorInvalidValue);
    *pitch = (width + 511) & ~(size_t)511;
    if (__builtin_mul_overflow(*pitch, height, &size))
        return runtime_result(cudaErrorMemoryAllocation);
    return allocate(SIM_DEVICE, size, 0, out);
}

cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    return RUNTIME_CALL(cudaMallocPitch_v3020, (out, pitch, width, height),
                        allocate_rows(out, pitch, width, height));
}

static cudaError_t allocate_planes(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    size_t rows;

    if (!out || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return runtime_result(cudaErrorInvalidValue);
    out->xsize = extent.width;
    out->ysize = extent.height;
    return allocate_rows(&out->ptr, &out->pitch, extent.width, rows);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
    return RUNTIME_CALL(cudaMalloc3D_v3020, (out, extent), allocate_planes(out, extent));
}

cudaError_t cudaFree(void *address)
{
    return RUNTIME_CALL(cudaFree_v3020, (address), release(address, SIM_DEVICE | SIM_MANAGED));
}

cudaError_t cudaHostAlloc(void **out, size_t size, unsigned int flags)
{
    return RUNTIME_CALL(cudaHostAlloc_v3020, (out, size, flags),
                        allocate(SIM_HOST, size, flags, out));
}

cudaError_t cudaMallocHost(void **out, size_t size)
{
    return RUNTIME_CALL(cudaMallocHost_v3020, (out, size), allocate(SIM_HOST, size, 0, out));
}

cudaError_t cudaFreeHost(void *address)
{
    return RUNTIME_CALL(cudaFreeHost_v3020, (address), release(address, SIM_HOST));
}

static cudaError_t hold(void *address, size_t size, unsigned flags)
{
    int error = sim_enter();

    return runtime_error(error ? error : sim_register(address, size, flags));
}

cudaError_t cudaHostRegister(void *address, size_t size, unsigned int flags)
{
    return RUNTIME_CALL(cudaHostRegister_v4000, (address, size, flags), hold(address, size, flags));
}

static cudaError_t let_go(void *address)
{
    int error = sim_enter();

    if (error)
        return runtime_error(error);
    return runtime_result(sim_unregister(address) ? cudaErrorHostMemoryNotRegistered : cudaSuccess);
}

cudaError_t cudaHostUnregister(void *address)
{
    return RUNTIME_CALL(cudaHostUnregister_v4000, (address), let_go(address));
}

/* Return the runtime's type of known memory. */
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
