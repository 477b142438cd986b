/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/memory/pool.h"
#include "core/streams/capture.h"
#include "runtime.h"

static cudaError_t create(cudaEvent_t *out, unsigned flags)
{
    struct sim_event *event;
    int error = sim_enter();

    if (!error)
        error = sim_event_create(flags, &event);
    if (!error)
        *out = (cudaEvent_t)event;
    return runtime_error(error);
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    return create(out, 0);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned int flags)
{
    return create(out, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event)
        return runtime_result(cudaErrorInvalidResourceHandle);
    sim_event_destroy((struct sim_event *)event);
    return cudaSuccess;
}

/* An event outside of the capture is recorded when the graph is launched. */
static cudaError_t record(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    struct sim_work work = {.type = SIM_NODE_RECORD, .event = (struct sim_event *)event};
    int error = -ENOENT;

    if (!event)
        return runtime_result(cudaErrorInvalidResourceHandle);
    if (flags & cudaEventRecordExternal)
        error = sim_capture_add(sim_stream(stream), &work);
    if (error != -ENOENT)
        return runtime_error(error);
    sim_event_record((struct sim_event *)event, sim_stream(stream));
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return record(event, stream, 0);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    return record(event, stream, flags);
}

/* Recorded work is done at once. While others capture, the call is forbidden. */
static cudaError_t wait(cudaEvent_t event)
{
    if (!event)
        return runtime_result(cudaErrorInvalidResourceHandle);
    if (sim_capture_forbids())
        return runtime_result(cudaErrorStreamCaptureUnsupported);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return wait(event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    sim_pools_settle();
    return wait(event);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    if (!start || !end ||
        sim_event_elapsed((struct sim_event *)start, (struct sim_event *)end, milliseconds))
        return runtime_result(cudaErrorInvalidResourceHandle);
    return cudaSuccess;
}
