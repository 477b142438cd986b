/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about kernels. Nothing is known of them: the answers are those of a modest one. */
#include "driver.h"

static CUresult attribute_of(int *value, CUfunction_attribute attribute)
{
    const struct sim_device *device = sim_device(sim_thread.device);

    if (!device)
        return CUDA_ERROR_INVALID_CONTEXT;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = device->gpu->major * 10 + device->gpu->minor;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = 48 << 10;
        break;
    default:
        *value = 0;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    return attribute_of(value, attribute);
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device)
{
    (void)kernel;
    (void)device;
    return attribute_of(value, attribute);
}

CUresult cuFuncGetName(const char **name, CUfunction function)
{
    (void)function;
    *name = "kernel";
    return CUDA_SUCCESS;
}

static CUresult occupancy(int *blocks, int threads, size_t shared)
{
    CUresult result = driver_enter();

    if (!result)
        *blocks = sim_occupancy(sim_device(sim_thread.device), threads, shared);
    return result;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared)
{
    (void)function;
    return occupancy(blocks, threads, shared);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                              int threads, size_t shared,
                                                              unsigned int flags)
{
    (void)function;
    (void)flags;
    return occupancy(blocks, threads, shared);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                          CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
    int blocks;
    CUresult result;

    (void)function;
    (void)shared_of;
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    result = occupancy(&blocks, *block, shared);
    if (!result)
        *grid = blocks * sim_device(sim_thread.device)->gpu->sms;
    return result;
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, CUfunction function, int blocks,
                                                 int threads)
{
    CUresult result = driver_enter();

    (void)function;
    (void)threads;
    if (!result)
        *shared =
            sim_device(sim_thread.device)->gpu->shared_per_sm / (size_t)(blocks > 0 ? blocks : 1) -
            1024;
    return result;
}

/* The linker's result: an image that is as empty as what is done with it. */
CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
    static char empty[16];

    (void)state;
    *image = empty;
    if (size)
        *size = sizeof(empty);
    return CUDA_SUCCESS;
}
