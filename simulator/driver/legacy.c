/* SPDX-License-Identifier: Apache-2.0 */
/* Forms that cuda.h no longer declares, because it gives their names to newer ones. */
#include "driver.h"

#undef cuDeviceGetUuid
#undef cuEventElapsedTime
#undef cuGetProcAddress

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice number);
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);
CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags);

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice number)
{
    if (!sim_device(number))
        return CUDA_ERROR_INVALID_DEVICE;
    sim_device_uuid(sim_device_ordinal(number), (unsigned char *)uuid->bytes);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    if (!start || !end ||
        sim_event_elapsed((struct sim_event *)start, (struct sim_event *)end, milliseconds))
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    CUresult result;
    (void)flags;
    if (!name || !out)
        return CUDA_ERROR_INVALID_VALUE;
    result = driver_find(name, out, version, &status);
    return result || !status ? result : CUDA_ERROR_NOT_FOUND;
}
