/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator for PyTorch to plug in (torch.cuda.memory.CUDAPluggableAllocator), with a CUDA
 * runtime of its own linking; it counts what it has given out. */
#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <sys/types.h>

__attribute__((visibility("default"))) void *pluggable_alloc(ssize_t size, int device,
                                                             cudaStream_t stream);
__attribute__((visibility("default"))) void pluggable_free(void *block, ssize_t size, int device,
                                                           cudaStream_t stream);
__attribute__((visibility("default"))) ssize_t pluggable_live(void);

static _Atomic ssize_t live;

void *pluggable_alloc(ssize_t size, int device, cudaStream_t stream)
{
    void *block = NULL;
    int before = 0;
    (void)stream;
    cudaGetDevice(&before);
    cudaSetDevice(device);
    if (!cudaMalloc(&block, (size_t)size))
        live += size;
    cudaSetDevice(before);
    return block;
}

void pluggable_free(void *block, ssize_t size, int device, cudaStream_t stream)
{
    (void)device;
    (void)stream;
    if (!cudaFree(block))
        live -= size;
}

ssize_t pluggable_live(void)
{
    return live;
}
