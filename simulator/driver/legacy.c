/* SPDX-License-Identifier: Apache-2.0 */
/* Forms that cuda.h no longer declares, because it gives their names to newer ones. */
#include "driver.h"

#undef cuDeviceGetUuid
#undef cuEventElapsedTime

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice number);
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);

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
