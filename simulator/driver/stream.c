/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "driver.h"

static CUresult create(CUstream *out, unsigned flags, int priority)
{
    struct sim_stream *stream;
    CUresult result = driver_enter();

    if (!result)
        result = driver_result(sim_stream_create(flags, priority, &stream));
    if (!result)
        *out = (CUstream)stream;
    return result;
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
    return create(out, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    return create(out, flags, priority);
}

CUresult cuStreamDestroy(CUstream stream)
{
    return sim_stream_destroy((struct sim_stream *)stream) ? CUDA_ERROR_INVALID_HANDLE
                                                           : CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    *priority = sim_stream(stream)->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
    *flags = sim_stream(stream)->flags;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    *id = sim_stream(stream)->id;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    *device = (uintptr_t)stream <= 2 ? sim_thread.device : sim_stream(stream)->device;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    int number = (uintptr_t)stream <= 2 ? sim_thread.device : sim_stream(stream)->device;

    *context = (CUcontext)&sim_device(number)->primary;
    return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                             CUgraph *graph, size_t *count)
{
    struct sim_graph *captured;
    uint64_t number;

    *status = (CUstreamCaptureStatus)sim_capture_status(sim_stream(stream), &number, &captured);
    if (id)
        *id = number;
    if (graph)
        *graph = (CUgraph)captured;
    if (count)
        *count = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return capture_info(stream, status, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   const CUgraphEdgeData **edges, size_t *count)
{
    if (dependencies)
        *dependencies = NULL;
    if (edges)
        *edges = NULL;
    return capture_info(stream, status, id, graph, count);
}

/* The form of programs that were built with CUDA 11.3 to 12.2. */
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count);

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, NULL, count);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    (void)stream;
    function(data);
    return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data,
                             unsigned int flags)
{
    (void)flags;
    callback(stream, CUDA_SUCCESS, data);
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
    struct sim_event *event;
    CUresult result = driver_enter();

    if (!result)
        result = driver_result(sim_event_create(flags, &event));
    if (!result)
        *out = (CUevent)event;
    return result;
}

CUresult cuEventDestroy(CUevent event)
{
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    free(event);
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_event_record((struct sim_event *)event, sim_stream(stream));
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return record(event, stream);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    (void)flags;
    return record(event, stream);
}

CUresult cuEventQuery(CUevent event)
{
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventSynchronize(CUevent event)
{
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    if (!start || !end ||
        sim_event_elapsed((struct sim_event *)start, (struct sim_event *)end, milliseconds))
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}
