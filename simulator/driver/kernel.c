/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of kernels, which are unknown: the answers describe a modest kernel. */
#include <errno.h>

#include "core/process/kernels.h"
#include "core/streams/capture.h"
#include "driver.h"

/* --- launches: nothing runs, but a captured graph gets a node -------------------------------- */

static CUresult keep_launch(CUfunction function, const unsigned grid[3], const unsigned block[3],
                            unsigned shared, CUstream stream)
{
    struct sim_work work = {.type = SIM_NODE_KERNEL,
                            .kernel = {.function = function,
                                       .grid = {grid[0], grid[1], grid[2]},
                                       .block = {block[0], block[1], block[2]},
                                       .shared = shared}};
    int error = sim_captures(stream) && !sim_is_library_kernel(function)
                    ? sim_capture_add(sim_stream(stream), &work)
                    : -ENOENT;
    return driver_result(error == -ENOENT ? 0 : error);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared, CUstream stream,
                        void **parameters, void **extra)
{
    (void)parameters;
    (void)extra;
    return keep_launch(function, (unsigned[]){grid_x, grid_y, grid_z},
                       (unsigned[]){block_x, block_y, block_z}, shared, stream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared, CUstream stream,
                                   void **parameters)
{
    (void)parameters;
    return keep_launch(function, (unsigned[]){grid_x, grid_y, grid_z},
                       (unsigned[]){block_x, block_y, block_z}, shared, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *launched, CUfunction function, void **parameters,
                          void **extra)
{
    (void)parameters;
    (void)extra;
    return keep_launch(function,
                       (unsigned[]){launched->gridDimX, launched->gridDimY, launched->gridDimZ},
                       (unsigned[]){launched->blockDimX, launched->blockDimY, launched->blockDimZ},
                       launched->sharedMemBytes, launched->hStream);
}

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
    const char *known = sim_kernel_name(function);
    *name = known ? known : "kernel";
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
    size_t ignored;
    int error = sim_kernel_parameter(function, index, offset, size ? size : &ignored);
    return error == -ENOENT ? CUDA_ERROR_NOT_SUPPORTED
           : error          ? CUDA_ERROR_INVALID_VALUE
                            : CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
    return cuFuncGetName(name, (CUfunction)kernel);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    return cuFuncGetParamInfo((CUfunction)kernel, index, offset, size);
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

/* Return the linker's result: an empty image. Nothing runs it. */
CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
    static char empty[16];
    (void)state;
    *image = empty;
    if (size)
        *size = sizeof(empty);
    return CUDA_SUCCESS;
}
