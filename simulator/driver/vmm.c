/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/calls.h"
#include "core/memory/vmm.h"
#include "driver.h"

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option)
{
    (void)properties;
    (void)option;
    *granularity = SIM_PAGE;
    return CUDA_SUCCESS;
}

DRIVER_REPORTS(cuMemCreate,
               (CUmemGenericAllocationHandle * handle, size_t size,
                const CUmemAllocationProp *properties, unsigned long long flags),
               (handle, size, properties, flags))
{
    struct sim_physical *physical;
    CUresult result;
    if (flags || !properties || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    result = driver_result(sim_physical_create(properties->location.id, size, &physical));
    if (!result)
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    return DRIVER_CALL(
        cuMemRelease, (handle),
        driver_result(sim_physical_release((struct sim_physical *)(uintptr_t)handle)));
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    if (!out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver_result(sim_physical_export((struct sim_physical *)(uintptr_t)handle, (int *)out));
}

DRIVER_REPORTS(cuMemImportFromShareableHandle,
               (CUmemGenericAllocationHandle * handle, void *descriptor,
                CUmemAllocationHandleType type),
               (handle, descriptor, type))
{
    struct sim_physical *physical;
    CUresult result;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    result = driver_result(sim_physical_import((int)(intptr_t)descriptor, &physical));
    if (!result)
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return result;
}

DRIVER_REPORTS(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * handle, void *address),
               (handle, address))
{
    struct sim_physical *physical;
    CUresult result = driver_result(sim_physical_retain(address, &physical));
    if (!result)
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return result;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
                                                CUmemGenericAllocationHandle handle)
{
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    memset(properties, 0, sizeof(*properties));
    properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties->location.id = sim_physical_device((struct sim_physical *)(uintptr_t)handle);
    return CUDA_SUCCESS;
}

DRIVER_REPORTS(cuMemAddressReserve,
               (CUdeviceptr * out, size_t size, size_t alignment, CUdeviceptr wanted,
                unsigned long long flags),
               (out, size, alignment, wanted, flags))
{
    void *address;
    CUresult result;
    (void)wanted; /* only a hint, for the driver too */
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    result = driver_result(sim_address_reserve(size, alignment, &address));
    if (!result)
        *out = (CUdeviceptr)(uintptr_t)address;
    return result;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
    return DRIVER_CALL(cuMemAddressFree, (address, size),
                       driver_result(sim_address_free(driver_pointer(address), size)));
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    return DRIVER_CALL(cuMemMap, (address, size, offset, handle, flags),
                       flags ? CUDA_ERROR_INVALID_VALUE
                             : driver_result(sim_map(driver_pointer(address), size, offset,
                                                     (struct sim_physical *)(uintptr_t)handle)));
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
    return DRIVER_CALL(cuMemUnmap, (address, size),
                       driver_result(sim_unmap(driver_pointer(address), size)));
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
                        size_t count)
{
    bool allowed = false;
    for (size_t i = 0; i < count; i++)
        allowed |= access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return DRIVER_CALL(cuMemSetAccess, (address, size, access, count),
                       driver_result(sim_set_access(driver_pointer(address), size, allowed)));
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                        CUdeviceptr address)
{
    uintptr_t start;
    size_t size;
    int device;
    (void)location;
    if (sim_mapping_at(driver_pointer(address), &start, &size, &device))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}
