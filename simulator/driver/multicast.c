/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast objects. The device attribute says that cards do not support them, so programs that
 * check do without. They work for programs that create one anyway. */
#include "api/calls.h"
#include "core/memory/vmm.h"
#include "driver.h"

static struct sim_physical *of(CUmemGenericAllocationHandle handle)
{
    return (struct sim_physical *)(uintptr_t)handle;
}

CUresult cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *properties,
                                   CUmulticastGranularity_flags option)
{
    (void)properties;
    (void)option;
    if (!granularity)
        return CUDA_ERROR_INVALID_VALUE;
    *granularity = SIM_PAGE;
    return CUDA_SUCCESS;
}

DRIVER_REPORTS(cuMulticastCreate,
               (CUmemGenericAllocationHandle * out, const CUmulticastObjectProp *properties),
               (out, properties))
{
    struct sim_physical *object;
    CUresult result;
    if (!out || !properties || properties->flags)
        return CUDA_ERROR_INVALID_VALUE;
    result = driver_result(sim_multicast_create(properties->numDevices, properties->size, &object));
    if (!result)
        *out = (CUmemGenericAllocationHandle)(uintptr_t)object;
    return result;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle object, CUdevice device)
{
    return driver_result(sim_multicast_add(of(object), device));
}

static CUresult bind(CUmemGenericAllocationHandle object, size_t at,
                     CUmemGenericAllocationHandle memory, size_t offset, size_t size,
                     unsigned long long flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE
                 : driver_result(sim_multicast_bind(of(object), at, of(memory), offset, size));
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle object, size_t at,
                            CUmemGenericAllocationHandle memory, size_t offset, size_t size,
                            unsigned long long flags)
{
    return DRIVER_CALL(cuMulticastBindMem, (object, at, memory, offset, size, flags),
                       bind(object, at, memory, offset, size, flags));
}

static CUresult bind_address(CUmemGenericAllocationHandle object, size_t at, CUdeviceptr address,
                             size_t size, unsigned long long flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE
                 : driver_result(
                       sim_multicast_bind_address(of(object), at, driver_pointer(address), size));
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle object, size_t at, CUdeviceptr address,
                             size_t size, unsigned long long flags)
{
    return DRIVER_CALL(cuMulticastBindAddr, (object, at, address, size, flags),
                       bind_address(object, at, address, size, flags));
}

/* Bind memory. CUDA 13.1's functions name the device, which is that of the memory. */
CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
                               CUmemGenericAllocationHandle memory, size_t offset, size_t size,
                               unsigned long long flags);
CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
                                CUdeviceptr address, size_t size, unsigned long long flags);

CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
                               CUmemGenericAllocationHandle memory, size_t offset, size_t size,
                               unsigned long long flags)
{
    (void)device;
    return bind(object, at, memory, offset, size, flags);
}

CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
                                CUdeviceptr address, size_t size, unsigned long long flags)
{
    (void)device;
    return bind_address(object, at, address, size, flags);
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
                           size_t size)
{
    return DRIVER_CALL(cuMulticastUnbind, (object, device, at, size),
                       driver_result(sim_multicast_unbind(of(object), device, at, size)));
}
