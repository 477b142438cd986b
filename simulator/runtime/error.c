/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "runtime.h"

cudaError_t runtime_error(int error)
{
    cudaError_t code = error == -ENOMEM ? cudaErrorMemoryAllocation
                       : error == -ENODEV
                           ? (sim_device_count() ? cudaErrorInvalidDevice : cudaErrorNoDevice)
                       : error ? cudaErrorInvalidValue
                               : cudaSuccess;
    return runtime_result(code);
}

cudaError_t runtime_enter(struct sim_device **device)
{
    int error = sim_enter();
    if (!error)
        *device = sim_device(sim_thread.device);
    return runtime_error(error);
}

int runtime_up(void)
{
    return (int)runtime_error(sim_enter());
}

int runtime_keep(int code)
{
    return (int)runtime_result((cudaError_t)code);
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = (cudaError_t)sim_thread.error;
    sim_thread.error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return (cudaError_t)sim_thread.error;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
#define SIM_ERROR(code, runtime, driver, text) {code, #runtime, text},
#include "errors.def"
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].code == (int)error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].code == (int)error)
            return errors[i].text;
    return "unrecognized error code";
}
