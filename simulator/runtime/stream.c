/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "core/memory/pool.h"
#include "core/streams/capture.h"
#include "runtime.h"

static cudaError_t create(cudaStream_t *out, unsigned flags, int priority)
{
    struct sim_stream *stream;
    int error = sim_enter();

    if (!error)
        error = sim_stream_create(flags, priority, &stream);
    if (!error)
        *out = (cudaStream_t)stream;
    return runtime_error(error);
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    return create(out, 0, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned int flags)
{
    return create(out, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned int flags, int priority)
{
    return create(out, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return runtime_result(sim_stream_destroy((struct sim_stream *)stream)
                              ? cudaErrorInvalidResourceHandle
                              : cudaSuccess);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    *priority = sim_stream(stream)->priority;
    return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
    *flags = sim_stream(stream)->flags;
    return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    *id = sim_stream(stream)->id;
    return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    *device = (uintptr_t)stream <= 2 ? sim_thread.device : sim_stream(stream)->device;
    return cudaSuccess;
}

/* Work is done at once, except captured work: nobody can wait for that. */
static cudaError_t wait(cudaStream_t stream)
{
    return runtime_result(sim_capture_spoil(sim_stream(stream)) ? cudaErrorStreamCaptureUnsupported
                                                                : cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return wait(stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    sim_pools_settle();
    return wait(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    struct sim_work work = {.type = SIM_NODE_WAIT, .event = (struct sim_event *)event};
    int error = -ENOENT;

    if (!event)
        return runtime_result(cudaErrorInvalidResourceHandle);
    if (flags & cudaEventWaitExternal)
        error = sim_capture_add(sim_stream(stream), &work);
    if (error == -ENOENT)
        error = sim_capture_wait(sim_stream(stream), work.event);
    return error == -EXDEV ? runtime_result(cudaErrorStreamCaptureIsolation) : runtime_error(error);
}

/* All earlier work is done, so call the callback now; while capturing, when the graph is
 * launched. */
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    struct sim_work work = {.type = SIM_NODE_HOST, .host = {function, data}};
    int error = sim_capture_add(sim_stream(stream), &work);

    if (error != -ENOENT)
        return runtime_error(error);
    function(data);
    return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                  unsigned int flags)
{
    (void)flags;
    if (sim_capture_spoil(sim_stream(stream)))
        return runtime_result(cudaErrorStreamCaptureUnsupported);
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}
