/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: the primary context of a device, which the runtime uses too, and contexts that programs
 * create. */
#include <errno.h>
#include <stdlib.h>

#include "api/calls.h"
#include "core/memory/pool.h"
#include "core/process/context-end.h"
#include "core/streams/capture.h"
#include "driver.h"

enum { STACK = 32 };

/* The contexts under the current one. */
static _Thread_local struct {
    struct sim_context *below[STACK];
    int depth;
} stack __attribute__((tls_model("initial-exec")));

static void bind(struct sim_context *context)
{
    sim_thread.context = context;
    if (context)
        sim_thread.device = context->device;
}

DRIVER_REPORTS(cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice number), (out, number))
{
    int error = sim_primary_up(number);
    if (error)
        return driver_result(error);
    sim_device(number)->primary.references++;
    *out = (CUcontext)&sim_device(number)->primary;
    return CUDA_SUCCESS;
}

DRIVER_REPORTS(cuDevicePrimaryCtxRelease, (CUdevice number), (number))
{
    struct sim_device *device = sim_device(number);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!device->primary.references)
        return CUDA_ERROR_INVALID_CONTEXT;
    /* The runtime may still use it without a reference, so it stays until it is reset. */
    device->primary.references--;
    return CUDA_SUCCESS;
}

DRIVER_REPORTS(cuDevicePrimaryCtxReset, (CUdevice number), (number))
{
    if (!sim_device(number))
        return CUDA_ERROR_INVALID_DEVICE;
    sim_primary_down(number);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice number, unsigned int *flags, int *active)
{
    const struct sim_device *device = sim_device(number);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = device->alive;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    bind((struct sim_context *)context);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = (CUcontext)sim_thread.context;
    return CUDA_SUCCESS;
}

static CUresult push(struct sim_context *context)
{
    if (!context || stack.depth == STACK)
        return CUDA_ERROR_INVALID_VALUE;
    stack.below[stack.depth++] = sim_thread.context;
    bind(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context)
{
    return push((struct sim_context *)context);
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
    if (!sim_thread.context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context)
        *context = (CUcontext)sim_thread.context;
    bind(stack.depth ? stack.below[--stack.depth] : NULL);
    return CUDA_SUCCESS;
}

/* Create a context. It uses as much memory as the primary one, and counts in addition to it. */
static CUresult create(CUcontext *out, CUdevice number)
{
    if (!sim_device(number))
        return CUDA_ERROR_INVALID_DEVICE;
    struct sim_context *context = calloc(1, sizeof(*context));
    if (!context || sim_further_up(number)) {
        free(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context->device = number;
    *out = (CUcontext)context;
    sim_report_resource(SIM_CONTEXT_CREATED, context, NULL);
    return push(context);
}

CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *parameters, unsigned int flags,
                        CUdevice number)
{
    return DRIVER_CALL(cuCtxCreate_v4, (out, parameters, flags, number), create(out, number));
}

/* Earlier forms, for programs that were built with an older header. */
CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice number);
CUresult cuCtxCreate_v3(CUcontext *out, void *affinity, int count, unsigned int flags,
                        CUdevice number);

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice number)
{
    return DRIVER_CALL(cuCtxCreate_v2, (out, flags, number), create(out, number));
}

CUresult cuCtxCreate_v3(CUcontext *out, void *affinity, int count, unsigned int flags,
                        CUdevice number)
{
    return DRIVER_CALL(cuCtxCreate_v3, (out, affinity, count, flags, number), create(out, number));
}

DRIVER_REPORTS(cuCtxDestroy, (CUcontext handle), (handle))
{
    struct sim_context *context = (struct sim_context *)handle;
    if (!context || context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_report_resource(SIM_CONTEXT_DESTROYED, context, NULL);
    if (sim_thread.context == context)
        bind(stack.depth ? stack.below[--stack.depth] : NULL);
    sim_further_end(context->device);
    free(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    if (!sim_thread.context)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = sim_thread.context->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
    const struct sim_context *queried =
        context ? (struct sim_context *)context : sim_thread.context;
    if (!queried)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = queried->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    CUresult result = driver_enter();
    if (result)
        return result;
    if (sim_capture_forbids_waiting())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    sim_pools_settle();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    static const size_t limits[CU_LIMIT_MAX] = {[CU_LIMIT_PRINTF_FIFO_SIZE] = 7 << 20,
                                                [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
                                                [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64};
    CUresult result = driver_enter();
    if (result)
        return result;
    if (limit == CU_LIMIT_STACK_SIZE)
        *value = sim_device(sim_thread.device)->stack;
    else
        *value = (unsigned)limit < CU_LIMIT_MAX ? limits[limit] : 0;
    return CUDA_SUCCESS;
}

/* Set a limit. Only the stack size changes the memory of a context. */
CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    CUresult result = driver_enter();
    if (result || limit != CU_LIMIT_STACK_SIZE)
        return result;
    int error = sim_set_stack(sim_thread.device, value);
    if (error == -ENOMEM) {
        sim_pools_make_room(sim_thread.device);
        error = sim_set_stack(sim_thread.device, value);
    }
    return driver_result(error);
}
