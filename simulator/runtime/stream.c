/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

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

/* Work is done, unless it was captured: nobody can wait for that. */
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
    return wait(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    (void)flags;
    if (!event)
        return runtime_result(cudaErrorInvalidResourceHandle);
    sim_capture_wait(sim_stream(stream), (struct sim_event *)event);
    return cudaSuccess;
}

/* All work before it is done: the callback's turn has come, or comes when the graph is launched. */
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    int error = sim_capture_callback(sim_stream(stream), function, data);

    if (error != -ENOENT)
        return runtime_error(error);
    function(data);
    return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data,
                                  unsigned int flags)
{
    (void)flags;
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
}
