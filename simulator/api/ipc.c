/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events of other processes. */
#include "core/memory/ipc.h"
#include "core/streams/ipc-event.h"

#include <errno.h>
#include <string.h>

#include "api.h"
#include "calls.h"

#ifdef SIM_DRIVER
typedef CUipcMemHandle api_memory_handle;
typedef CUipcEventHandle api_event_handle;
#else
typedef cudaIpcMemHandle_t api_memory_handle;
typedef cudaIpcEventHandle_t api_event_handle;
#endif

static api_result export(api_memory_handle *out, api_pointer address)
{
    struct sim_ipc_memory handle;
    int error = out ? sim_ipc_export((void *)(uintptr_t)address, &handle) : -EINVAL;

    if (!error)
        memcpy(out, &handle, sizeof(handle));
    return api_error(error);
}

static api_result open_memory(api_pointer *out, const api_memory_handle *raw)
{
    struct sim_ipc_memory handle;
    api_result result = api_enter();
    void *address;
    int error;

    if (result || !out)
        return result ? result : api_code(API_INVALID_VALUE);
    memcpy(&handle, raw, sizeof(handle));
    error = sim_ipc_open(&handle, &address);
    if (error == -EDEADLK)
        return api_code(API_INVALID_CONTEXT);
    if (error == -ENOENT)
        return api_code(API_MAP_FAILED);
    if (!error)
        *out = (api_pointer)(uintptr_t)address;
    return api_error(error);
}

api_result API(IpcGetMemHandle)(api_memory_handle *out, api_pointer address)
{
    return API_CALL(cudaIpcGetMemHandle_v4010, cuIpcGetMemHandle, (out, address),
                    export(out, address));
}

api_result API(IpcOpenMemHandle)(api_pointer *out, api_memory_handle handle, unsigned int flags)
{
    return API_CALL(cudaIpcOpenMemHandle_v4010, cuIpcOpenMemHandle_v2, (out, handle, flags),
                    open_memory(out, &handle));
}

api_result API(IpcCloseMemHandle)(api_pointer address)
{
    return API_CALL(cudaIpcCloseMemHandle_v4010, cuIpcCloseMemHandle, (address),
                    api_error(sim_ipc_close((void *)(uintptr_t)address)));
}

api_result API(IpcGetEventHandle)(api_event_handle *out, api_event event)
{
    struct sim_ipc_event handle;
    int error;

    if (!out || !event)
        return api_code(event ? API_INVALID_VALUE : API_INVALID_HANDLE);
    error = sim_ipc_export_event((struct sim_event *)event, &handle);
    if (!error)
        memcpy(out, &handle, sizeof(handle));
    return error ? api_code(API_INVALID_HANDLE) : api_code(API_SUCCESS);
}

api_result API(IpcOpenEventHandle)(api_event *out, api_event_handle raw)
{
    struct sim_ipc_event handle;
    struct sim_event *event;
    api_result result = api_enter();
    int error;

    if (result || !out)
        return result ? result : api_code(API_INVALID_VALUE);
    memcpy(&handle, &raw, sizeof(handle));
    error = sim_ipc_open_event(&handle, &event);
    if (!error)
        *out = (api_event)event;
    return error == -EINVAL ? api_code(API_INVALID_HANDLE) : api_error(error);
}
