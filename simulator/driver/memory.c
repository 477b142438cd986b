/* SPDX-License-Identifier: Apache-2.0 */

#include "api/calls.h"
#include "core/memory/vmm.h"
#include "core/streams/capture.h"
#include "driver.h"

static CUresult allocate(enum sim_kind kind, size_t size, unsigned flags, void **out)
{
    CUresult result = driver_enter();
    if (result)
        return result;
    if (sim_capture_forbids())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return driver_result(sim_allocate(kind, sim_thread.device, size, flags, out));
}

static CUresult allocate_device(enum sim_kind kind, size_t size, unsigned flags, CUdeviceptr *out)
{
    void *address;
    CUresult result = allocate(kind, size, flags, &address);
    if (!result)
        *out = (CUdeviceptr)(uintptr_t)address;
    return result;
}

static CUresult release(void *address, int kinds)
{
    CUresult result = driver_enter();
    if (result || !address)
        return result;
    if (sim_capture_forbids())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return driver_result(sim_release(address, kinds));
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t size)
{
    return DRIVER_CALL(cuMemAlloc_v2, (out, size), allocate_device(SIM_DEVICE, size, 0, out));
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned int flags)
{
    return DRIVER_CALL(cuMemAllocManaged, (out, size, flags),
                       allocate_device(SIM_MANAGED, size, flags, out));
}

DRIVER_REPORTS(cuMemAllocPitch,
               (CUdeviceptr * out, size_t *pitch, size_t width, size_t height,
                unsigned int element),
               (out, pitch, width, height, element))
{
    size_t size;
    (void)element;
    if (width > SIZE_MAX - 511)
        return CUDA_ERROR_INVALID_VALUE;
    *pitch = (width + 511) & ~(size_t)511;
    if (__builtin_mul_overflow(*pitch, height, &size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return allocate_device(SIM_DEVICE, size, 0, out);
}

CUresult cuMemFree(CUdeviceptr address)
{
    return DRIVER_CALL(cuMemFree_v2, (address),
                       release(driver_pointer(address), SIM_DEVICE | SIM_MANAGED));
}

CUresult cuMemAllocHost(void **out, size_t size)
{
    return DRIVER_CALL(cuMemAllocHost_v2, (out, size), allocate(SIM_HOST, size, 0, out));
}

CUresult cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
    return DRIVER_CALL(cuMemHostAlloc, (out, size, flags), allocate(SIM_HOST, size, flags, out));
}

CUresult cuMemFreeHost(void *address)
{
    return DRIVER_CALL(cuMemFreeHost, (address), release(address, SIM_HOST));
}

DRIVER_REPORTS(cuMemHostRegister, (void *address, size_t size, unsigned int flags),
               (address, size, flags))
{
    CUresult result = driver_enter();
    return result ? result : driver_result(sim_register(address, size, flags));
}

DRIVER_REPORTS(cuMemHostUnregister, (void *address), (address))
{
    CUresult result = driver_enter();
    if (result)
        return result;
    return sim_unregister(address) ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *host, unsigned int flags)
{
    struct sim_range range;
    (void)flags;
    if (!sim_find(host, &range))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *host)
{
    struct sim_range range;
    if (!sim_find(host, &range) || !(range.kind & (SIM_HOST | SIM_REGISTERED)))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = range.flags;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *available, size_t *total)
{
    CUresult result = driver_enter();
    if (result)
        return result;
    const struct sim_device *device = sim_device(sim_thread.device);
    *total = device->total;
    *available = device->total - device->used;
    return CUDA_SUCCESS;
}

/* Return the start and size of the allocation, or of the mapping, that holds the address. */
static CUresult base_of(CUdeviceptr address, uintptr_t *start, size_t *size)
{
    struct sim_range range;
    int device;
    if (!sim_find(driver_pointer(address), &range))
        return CUDA_ERROR_NOT_FOUND;
    *start = range.start;
    *size = range.size;
    if (range.kind == SIM_RESERVED && sim_mapping_at(driver_pointer(address), start, size, &device))
        return CUDA_ERROR_NOT_FOUND;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    uintptr_t start;
    size_t length;
    CUresult result = base_of(address, &start, &length);
    if (result)
        return result;
    if (base)
        *base = (CUdeviceptr)start;
    if (size)
        *size = length;
    return CUDA_SUCCESS;
}
