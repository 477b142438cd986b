/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/device/trace.h"
#include "driver.h"

CUresult cuInit(unsigned int flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    sim_inject();
    return sim_device_count() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = SIM_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    if (!sim_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = sim_device_count();
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice number)
{
    const struct sim_device *device = sim_device(number);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, size > 0 ? (size_t)size : 0, "%s", device->gpu->product);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice number)
{
    if (!sim_device(number))
        return CUDA_ERROR_INVALID_DEVICE;
    sim_device_uuid(sim_device_ordinal(number), (unsigned char *)uuid->bytes);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice number)
{
    const struct sim_device *device = sim_device(number);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = device->total;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice number)
{
    const struct sim_device *device = sim_device(number);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *value = sim_device_attribute(device, (int)attribute);
    return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice number)
{
    const struct sim_device *device = sim_device(number);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *major = device->gpu->major;
    *minor = device->gpu->minor;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *name, int size, CUdevice number)
{
    if (!sim_device(number))
        return CUDA_ERROR_INVALID_DEVICE;
    return driver_result(sim_device_pci_name(sim_device_ordinal(number), name, size));
}

CUresult cuDeviceGetByPCIBusId(CUdevice *number, const char *wanted)
{
    char name[16];
    for (int i = 0; i < sim_device_count(); i++) {
        sim_device_pci_name(sim_device_ordinal(i), name, sizeof(name));
        if (!strcasecmp(name, wanted)) {
            *number = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}
