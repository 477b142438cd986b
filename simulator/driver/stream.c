/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/memory/pool.h"
#include "core/streams/capture.h"
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

/* Wait. Work is complete already, except captured work, which cannot be waited for. */
static CUresult wait(CUstream stream)
{
    return sim_capture_spoil(sim_stream(stream)) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                                 : CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
    return wait(stream);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    sim_pools_settle();
    return wait(stream);
}

/* The form for programs that were built with CUDA 11.3 to 12.2. */
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count);

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, NULL, count);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    struct sim_work work = {.type = SIM_NODE_WAIT, .event = (struct sim_event *)event};
    int error = -ENOENT;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & CU_EVENT_WAIT_EXTERNAL)
        error = sim_capture_add(sim_stream(stream), &work);
    if (error == -ENOENT)
        error = sim_capture_wait(sim_stream(stream), work.event);
    return error == -EXDEV ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : driver_result(error);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    struct sim_work work = {.type = SIM_NODE_HOST, .host = {function, data}};
    int error = sim_capture_add(sim_stream(stream), &work);
    if (error != -ENOENT)
        return driver_result(error);
    function(data);
    return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data,
                             unsigned int flags)
{
    (void)flags;
    if (sim_capture_spoil(sim_stream(stream)))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
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
    sim_event_destroy((struct sim_event *)event);
    return CUDA_SUCCESS;
}

/* Record an event. One from outside the capture is recorded when the graph is launched. */
static CUresult record(CUevent event, CUstream stream, unsigned flags)
{
    struct sim_work work = {.type = SIM_NODE_RECORD, .event = (struct sim_event *)event};
    int error = -ENOENT;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & CU_EVENT_RECORD_EXTERNAL)
        error = sim_capture_add(sim_stream(stream), &work);
    if (error != -ENOENT)
        return driver_result(error);
    sim_event_record((struct sim_event *)event, sim_stream(stream));
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return record(event, stream, 0);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    return record(event, stream, flags);
}

/* Wait for an event. Recorded work is complete already. While others capture, the call is
 * forbidden. */
static CUresult wait_event(CUevent event)
{
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    return sim_capture_forbids() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
    return wait_event(event);
}

CUresult cuEventSynchronize(CUevent event)
{
    sim_pools_settle();
    return wait_event(event);
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    if (!start || !end ||
        sim_event_elapsed((struct sim_event *)start, (struct sim_event *)end, milliseconds))
        return CUDA_ERROR_INVALID_HANDLE;
    return CUDA_SUCCESS;
}
