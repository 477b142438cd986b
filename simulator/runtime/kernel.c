/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: they never run, but queries about them are answered. */
#include "image.h"
#include "runtime.h"

/* Push a configuration. nvcc's host code calls these; no header declares them. */
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

/* --- launches: the driver's ------------------------------------------------------------------ */

#define LAUNCH(call, function, grid, block, ...)                                                   \
    DRIVER(call, (CUfunction)(uintptr_t)(function), (grid).x, (grid).y, (grid).z, (block).x,       \
           (block).y, (block).z, __VA_ARGS__)

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters,
                               size_t shared, cudaStream_t stream)
{
    return LAUNCH(cuLaunchKernel, kernel, grid, block, (unsigned)shared, stream, parameters, NULL);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **parameters,
                             size_t shared, cudaStream_t stream)
{
    return LAUNCH(cuLaunchKernel, function, grid, block, (unsigned)shared, stream, parameters,
                  NULL);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                        void **parameters, size_t shared, cudaStream_t stream)
{
    return LAUNCH(cuLaunchCooperativeKernel, function, grid, block, (unsigned)shared, stream,
                  parameters);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *launched, const void *function,
                                void **parameters)
{
    return LAUNCH(cuLaunchKernel, function, launched->gridDim, launched->blockDim,
                  (unsigned)launched->dynamicSmemBytes, launched->stream, parameters, NULL);
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
