/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "core/memory/pool.h"
#include "core/process/context-end.h"
#include "core/streams/capture.h"
#include "core/values/values.h"
#include "runtime.h"

cudaError_t cudaGetDeviceCount(int *count)
{
    sim_start_values(); /* PyTorch queries this before its first operator */
    *count = sim_device_count();
    return runtime_result(*count ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = sim_thread.device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int number)
{
    if (sim_thread.device == number && sim_thread.context)
        return cudaSuccess;
    int error = sim_primary_up(number);
    if (error)
        return runtime_error(error);
    sim_thread.device = number;
    sim_thread.context = &sim_device(number)->primary;
    return cudaSuccess;
}

struct no_parameters {
    char none;
};

static cudaError_t reset(void)
{
    sim_primary_down(sim_thread.device);
    return cudaSuccess;
}

/* Reset the device. The call has no parameters, and CUPTI's headers no structure of them. */
cudaError_t cudaDeviceReset(void)
{
    return SIM_CALL(SIM_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020, __func__,
                    cudaError_t, struct no_parameters, (0), reset());
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = SIM_RUNTIME_VERSION;
    return cudaSuccess;
}

/* Return the peer's context, which the driver's call takes, and which need not be up. */
static CUcontext peer_of(int number)
{
    struct sim_device *device = number == sim_thread.device ? NULL : sim_device(number);
    return device ? (CUcontext)&device->primary : NULL;
}

cudaError_t cudaDeviceEnablePeerAccess(int number, unsigned int flags)
{
    int error = runtime_up();
    CUcontext peer = peer_of(number);
    if (error || (!peer && !flags))
        return error ? (cudaError_t)error : runtime_result(cudaErrorInvalidDevice);
    return DRIVER(cuCtxEnablePeerAccess, peer, flags);
}

cudaError_t cudaDeviceDisablePeerAccess(int number)
{
    int error = runtime_up();
    CUcontext peer = peer_of(number);
    if (error || !peer)
        return error ? (cudaError_t)error : runtime_result(cudaErrorInvalidDevice);
    return DRIVER(cuCtxDisablePeerAccess, peer);
}
