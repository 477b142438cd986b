/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels. Compiled programs register theirs at start and launch them by the address of a host
 * function; nothing of it is ever run, so registration keeps variables only.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/* What nvcc's host code calls; no header declares it. */
void **__cudaRegisterFatBinary(void *image);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);

/* A launch in <<<>>> pushes its shape and the stub that it calls pops it: one a thread is enough. */
static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    struct CUstream_st *stream;
} launch __attribute__((tls_model("initial-exec")));

void **__cudaRegisterFatBinary(void *image)
{
    static void *handle;

    (void)image;
    return &handle;
}

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

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    struct sim_device *device;
    cudaError_t error = runtime_enter(&device);

    (void)function;
    if (error)
        return error;
    *attributes = (struct cudaFuncAttributes){
        .maxThreadsPerBlock = 1024,
        .numRegs = 32,
        .ptxVersion = device->gpu->major * 10 + device->gpu->minor,
        .binaryVersion = device->gpu->major * 10 + device->gpu->minor,
        .maxDynamicSharedSizeBytes = 48 << 10,
        .preferredShmemCarveout = -1,
    };
    return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char **name, const void *function)
{
    (void)function;
    *name = "kernel";
    return cudaSuccess;
}

static cudaError_t occupancy(int *blocks, int threads, size_t shared)
{
    struct sim_device *device;
    cudaError_t error = runtime_enter(&device);

    if (!error)
        *blocks = sim_occupancy(device, threads, shared);
    return error;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int threads, size_t shared)
{
    (void)function;
    return occupancy(blocks, threads, shared);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                   const void *function,
                                                                   int threads, size_t shared,
                                                                   unsigned int flags)
{
    (void)function;
    (void)flags;
    return occupancy(blocks, threads, shared);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *function,
                                                      int blocks, int threads)
{
    struct sim_device *device;
    cudaError_t error = runtime_enter(&device);

    (void)function;
    (void)threads;
    if (!error)
        *shared = device->gpu->shared_per_sm / (size_t)(blocks > 0 ? blocks : 1) - 1024;
    return error;
}
