/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: they never run, but queries about them are answered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/streams/capture.h"
#include "image.h"
#include "runtime.h"

/* Called by nvcc's host code; no header declares these. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters,
                               size_t shared, cudaStream_t stream);

/* A launch in <<<>>> pushes its shape, and the stub that it calls pops it: one a thread is
 * enough. */
static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    struct CUstream_st *stream;
} launch __attribute__((tls_model("initial-exec")));

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     struct CUstream_st *stream)
{
    launch.grid = grid;
    launch.block = block;
    launch.shared = shared;
    launch.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    *grid = launch.grid;
    *block = launch.block;
    *shared = launch.shared;
    *(struct CUstream_st **)stream = launch.stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    *kernel = (cudaKernel_t)(uintptr_t)host;
    return cudaSuccess;
}

/* --- launches: nothing is run, but a graph has a node of it --------------------------------- */

static cudaError_t keep_launch(const void *function, dim3 grid, dim3 block, size_t shared,
                               cudaStream_t stream)
{
    struct sim_work work = {.type = SIM_NODE_KERNEL,
                            .kernel = {.function = (void *)(uintptr_t)function,
                                       .grid = {grid.x, grid.y, grid.z},
                                       .block = {block.x, block.y, block.z},
                                       .shared = (unsigned)shared}};
    int error = sim_capture_add_slow(sim_stream(stream), &work);

    return runtime_error(error == -ENOENT ? 0 : error);
}

static inline cudaError_t launch_kernel(const void *function, dim3 grid, dim3 block, size_t shared,
                                        cudaStream_t stream)
{
    if (sim_captures(stream))
        return keep_launch(function, grid, block, shared, stream);
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters,
                               size_t shared, cudaStream_t stream)
{
    (void)parameters;
    return launch_kernel(kernel, grid, block, shared, stream);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **parameters,
                             size_t shared, cudaStream_t stream)
{
    (void)parameters;
    return launch_kernel(function, grid, block, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                        void **parameters, size_t shared, cudaStream_t stream)
{
    (void)parameters;
    return launch_kernel(function, grid, block, shared, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *launched, const void *function,
                                void **parameters)
{
    (void)parameters;
    return launch_kernel(function, launched->gridDim, launched->blockDim,
                         launched->dynamicSmemBytes, launched->stream);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    struct sim_device *device;
    cudaError_t error = runtime_enter(&device);
    struct sim_code code;

    if (error)
        return error;
    if (sim_image_for(function, device->gpu->major * 10 + device->gpu->minor, &code))
        return runtime_result(cudaErrorNoKernelImageForDevice);
    *attributes = (struct cudaFuncAttributes){
        .maxThreadsPerBlock = 1024,
        .numRegs = 32,
        .ptxVersion = code.ptx,
        .binaryVersion = code.binary,
        .maxDynamicSharedSizeBytes = 48 << 10,
        .preferredShmemCarveout = -1,
    };
    return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char **name, const void *function)
{
    *name = sim_image_name(function);
    return runtime_result(*name ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}
