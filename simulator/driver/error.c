/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "driver.h"

/* Return the CUDA code of the core's error; the runtime's codes have the same numbers. */
CUresult driver_result(int error)
{
    switch (error) {
    case 0:
        return CUDA_SUCCESS;
    case -ENOMEM:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case -ENODEV:
        return sim_device_count() ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NO_DEVICE;
    case -EEXIST:
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    case -ENOTSUP:
        return CUDA_ERROR_NOT_SUPPORTED;
    case -ECANCELED:
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Some runtime codes have no name of their own here: in the table they follow the unknown error. */
static const struct {
    int code;
    const char *name, *text;
} errors[] = {
#define SIM_ERROR(code, runtime, driver, text) {driver == code ? code : -1, #driver, text},
#include "errors.def"
};

static CUresult find_texts(CUresult error, const char **name, const char **text)
{
    *name = *text = NULL;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].code == (int)error) {
            *name = errors[i].name;
            *text = errors[i].text;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    const char *text;
    return find_texts(error, name, &text);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    const char *name;
    return find_texts(error, &name, text);
}
