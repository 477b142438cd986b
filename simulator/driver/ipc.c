/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events of other processes. */
#include "core/memory/ipc.h"
#include "core/streams/stream.h"

#include <errno.h>
#include <string.h>

#include "api/calls.h"
#include "driver.h"

DRIVER_REPORTS(cuIpcGetMemHandle, (CUipcMemHandle * out, CUdeviceptr address), (out, address))
{
    struct sim_ipc_memory handle;
    int error = out ? sim_ipc_export((void *)(uintptr_t)address, &handle) : -EINVAL;
    if (!error)
        memcpy(out, &handle, sizeof(handle));
    return driver_result(error);
}

DRIVER_REPORTS(cuIpcOpenMemHandle, (CUdeviceptr * out, CUipcMemHandle raw, unsigned int flags),
               (out, raw, flags))
{
    struct sim_ipc_memory handle;
    CUresult result = driver_enter();
    void *address;
    (void)flags;
    if (result || !out)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    memcpy(&handle, &raw, sizeof(handle));
    int error = sim_ipc_open(&handle, &address);
    if (error == -EDEADLK)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (error == -ENOENT)
        return CUDA_ERROR_MAP_FAILED;
    if (!error)
        *out = (CUdeviceptr)(uintptr_t)address;
    return driver_result(error);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    return DRIVER_CALL(cuIpcCloseMemHandle, (address),
                       driver_result(sim_ipc_close((void *)(uintptr_t)address)));
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event)
{
    struct sim_ipc_event handle;
    if (!out || !event)
        return event ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    int error = sim_ipc_export_event((struct sim_event *)event, &handle);
    if (!error)
        memcpy(out, &handle, sizeof(handle));
    return error ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle raw)
{
    struct sim_ipc_event handle;
    struct sim_event *event;
    CUresult result = driver_enter();
    if (result || !out)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    memcpy(&handle, &raw, sizeof(handle));
    int error = sim_ipc_open_event(&handle, &event);
    if (!error)
        *out = (CUevent)event;
    return error == -EINVAL ? CUDA_ERROR_INVALID_HANDLE : driver_result(error);
}
