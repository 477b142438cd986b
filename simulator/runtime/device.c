/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
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
    sim_start_values(); /* PyTorch asks before its first operator */
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
    int error;

    if (sim_thread.device == number && sim_thread.context)
        return cudaSuccess;
    error = sim_primary_up(number);
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

/* It has no parameters, and CUPTI's headers no structure of them. */
cudaError_t cudaDeviceReset(void)
{
    return SIM_CALL(SIM_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020, __func__,
                    cudaError_t, struct no_parameters, (0), reset());
}

cudaError_t cudaDeviceSynchronize(void)
{
    if (sim_capture_forbids())
        return runtime_result(cudaErrorStreamCaptureUnsupported);
    sim_pools_settle();
    return runtime_error(sim_enter());
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int number)
{
    const struct sim_device *device = sim_device(number);

    if (!device)
        return runtime_result(cudaErrorInvalidDevice);
    *value = sim_device_attribute(device, (int)attribute);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *name, int size, int number)
{
    if (!sim_device(number))
        return runtime_result(cudaErrorInvalidDevice);
    return runtime_error(sim_device_pci_name(sim_device_ordinal(number), name, size));
}

cudaError_t cudaDeviceGetByPCIBusId(int *number, const char *wanted)
{
    char name[16];

    for (int i = 0; i < sim_device_count(); i++) {
        sim_device_pci_name(sim_device_ordinal(i), name, sizeof(name));
        if (!strcasecmp(name, wanted)) {
            *number = i;
            return cudaSuccess;
        }
    }
    return runtime_result(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    switch (limit) {
    case cudaLimitStackSize:
        *value = 1024;
        break;
    case cudaLimitPrintfFifoSize:
        *value = 7 << 20;
        break;
    case cudaLimitMallocHeapSize:
        *value = 8 << 20;
        break;
    case cudaLimitMaxL2FetchGranularity:
        *value = 64;
        break;
    default:
        *value = 0;
    }
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = SIM_DRIVER_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = SIM_RUNTIME_VERSION;
    return cudaSuccess;
}
