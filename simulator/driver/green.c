/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: a share of a device's multiprocessors. They use its primary context, and no
 * additional memory. */
#include <errno.h>
#include <stdlib.h>

#include "api/calls.h"
#include "driver.h"

CUresult cuDeviceGetDevResource(CUdevice number, CUdevResource *resource, CUdevResourceType type)
{
    const struct sim_device *device = sim_device(number);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!resource || type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = (CUdevResource){.type = type};
    resource->sm.smCount = (unsigned)device->gpu->sms;
    return CUDA_SUCCESS;
}

/* Create as many groups as requested, if they fit; without a buffer, count them. */
CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *groups,
                                     const CUdevResource *input, CUdevResource *rest,
                                     unsigned int flags, unsigned int least)
{
    unsigned each = least ? (least + 7) / 8 * 8 : 8, fit;
    (void)flags;
    if (!groups || !input || input->type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_VALUE;
    fit = input->sm.smCount / each;
    if (result && *groups < fit)
        fit = *groups;
    for (unsigned i = 0; result && i < fit; i++) {
        result[i] = *input;
        result[i].sm.smCount = each;
    }
    if (rest) {
        *rest = *input;
        rest->sm.smCount -= fit * each;
    }
    *groups = fit;
    return fit ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

DRIVER_REPORTS(cuGreenCtxCreate,
               (CUgreenCtx * out, CUdevResourceDesc resources, CUdevice number, unsigned int flags),
               (out, resources, number, flags))
{
    if (!sim_device(number))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!out || !resources || flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    int error = sim_primary_up(number);
    struct sim_context *context = error ? NULL : calloc(1, sizeof(*context));
    if (!context)
        return driver_result(error ? error : -ENOMEM);
    *context = (struct sim_context){.device = number, .primary = true}; /* no further one */
    sim_device(number)->primary.references++;
    *out = (CUgreenCtx)context;
    return CUDA_SUCCESS;
}

DRIVER_REPORTS(cuGreenCtxDestroy, (CUgreenCtx handle), (handle))
{
    struct sim_context *context = (struct sim_context *)handle;
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_thread.context == context)
        sim_thread.context = NULL;
    sim_device(context->device)->primary.references--;
    free(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx handle)
{
    if (!out || !handle)
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = (CUcontext)handle;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx handle, unsigned int flags, int priority)
{
    const struct sim_context *context = (struct sim_context *)handle;
    struct sim_stream *stream;
    CUresult result;
    int current = sim_thread.device;
    if (!out || !context)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_thread.device = context->device;
    result = driver_result(sim_stream_create(flags, priority, &stream));
    sim_thread.device = current;
    if (!result)
        *out = (CUstream)stream;
    return result;
}
