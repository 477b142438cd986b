/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of graphics interfaces. */
#include "core/memory/external.h"

#include "api/calls.h"
#include "driver.h"

enum { OPAQUE_FD = 1 }; /* both interfaces' number */

CUresult cuImportExternalMemory(CUexternalMemory *out,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *handle)
{
    CUresult result = driver_enter();
    if (result || !out || !handle)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    if ((int)handle->type != OPAQUE_FD)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver_result(
        sim_external_import(handle->handle.fd, handle->size, (struct sim_external **)out));
}

DRIVER_REPORTS(cuExternalMemoryGetMappedBuffer,
               (CUdeviceptr * out, CUexternalMemory external,
                const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *buffer),
               (out, external, buffer))
{
    void *address;
    int error;
    if (!out || !external || !buffer)
        return CUDA_ERROR_INVALID_VALUE;
    error =
        sim_external_map((struct sim_external *)external, buffer->offset, buffer->size, &address);
    if (!error)
        *out = (CUdeviceptr)(uintptr_t)address;
    return driver_result(error);
}

CUresult cuDestroyExternalMemory(CUexternalMemory external)
{
    if (!external)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_external_destroy((struct sim_external *)external);
    return CUDA_SUCCESS;
}
