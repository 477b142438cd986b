/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of graphics interfaces. */
#include "core/memory/external.h"

#include <errno.h>

#include "api.h"
#include "calls.h"

#ifdef SIM_DRIVER
typedef CUexternalMemory api_external;
typedef CUDA_EXTERNAL_MEMORY_HANDLE_DESC api_external_handle;
typedef CUDA_EXTERNAL_MEMORY_BUFFER_DESC api_external_buffer;
#else
typedef cudaExternalMemory_t api_external;
typedef struct cudaExternalMemoryHandleDesc api_external_handle;
typedef struct cudaExternalMemoryBufferDesc api_external_buffer;
#endif

enum { OPAQUE_FD = 1 }; /* both interfaces' number */

api_result API(ImportExternalMemory)(api_external *out, const api_external_handle *handle)
{
    api_result result = api_enter();

    if (result || !out || !handle)
        return result ? result : api_code(API_INVALID_VALUE);
    if ((int)handle->type != OPAQUE_FD)
        return api_code(API_NOT_SUPPORTED);
    return api_error(
        sim_external_import(handle->handle.fd, handle->size, (struct sim_external **)out));
}

static api_result map(api_pointer *out, api_external external, const api_external_buffer *buffer)
{
    void *address;
    int error;

    if (!out || !external || !buffer)
        return api_code(API_INVALID_VALUE);
    error =
        sim_external_map((struct sim_external *)external, buffer->offset, buffer->size, &address);
    if (!error)
        *out = (api_pointer)(uintptr_t)address;
    return api_error(error);
}

api_result API(ExternalMemoryGetMappedBuffer)(api_pointer *out, api_external external,
                                              const api_external_buffer *buffer)
{
    return API_CALL(cudaExternalMemoryGetMappedBuffer_v10000, cuExternalMemoryGetMappedBuffer,
                    (out, external, buffer), map(out, external, buffer));
}

api_result API(DestroyExternalMemory)(api_external external)
{
    if (!external)
        return api_code(API_INVALID_HANDLE);
    sim_external_destroy((struct sim_external *)external);
    return api_code(API_SUCCESS);
}
