/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy-calls ROUTE: makes every call of the CUDA runtime and driver that copies or sets memory and
 * has a hook, and prints for each the record that a trace is to have: "record api size".
 */
#include "routes.h"

static char host[4096];
static void *a, *b; /* on the device */
static CUdeviceptr at, from;

static void copied(const char *api, size_t size, int result)
{
    expect("cuda_copy", api, size, result);
}

static void was_set(const char *api, size_t size, int result)
{
    expect("cuda_set", api, size, result);
}

static void runtime_copies(void)
{
    copied("cudaMemcpy", 4096, (int)cudaMemcpy(a, host, 4096, cudaMemcpyHostToDevice));
    copied("cudaMemcpyAsync", 1000, (int)cudaMemcpyAsync(b, a, 1000, cudaMemcpyDefault, NULL));
    copied("cudaMemcpy2D", 64 * 8,
           (int)cudaMemcpy2D(a, 256, host, 128, 64, 8, cudaMemcpyHostToDevice));
    copied("cudaMemcpy2DAsync", 64 * 4,
           (int)cudaMemcpy2DAsync(host, 128, a, 256, 64, 4, cudaMemcpyDeviceToHost, NULL));
    struct cudaMemcpy3DParms box = {.srcPtr = {host, 64, 64, 8},
                                    .dstPtr = {a, 64, 64, 8},
                                    .extent = {64, 8, 2},
                                    .kind = cudaMemcpyHostToDevice};
    copied("cudaMemcpy3D", 64 * 8 * 2, (int)cudaMemcpy3D(&box));
    copied("cudaMemcpy3DAsync", 64 * 8 * 2, (int)cudaMemcpy3DAsync(&box, NULL));
    copied("cudaMemcpyPeer", 2000, (int)cudaMemcpyPeer(a, 0, b, 0, 2000));
    copied("cudaMemcpyPeerAsync", 2001, (int)cudaMemcpyPeerAsync(a, 0, b, 0, 2001, NULL));
}

static void runtime_sets(void)
{
    struct cudaPitchedPtr box = {a, 64, 64, 8};
    was_set("cudaMemset", 4096, (int)cudaMemset(a, 1, 4096));
    was_set("cudaMemsetAsync", 100, (int)cudaMemsetAsync(a, 1, 100, NULL));
    was_set("cudaMemset2D", 32 * 3, (int)cudaMemset2D(a, 64, 1, 32, 3));
    was_set("cudaMemset2DAsync", 32 * 4, (int)cudaMemset2DAsync(a, 64, 1, 32, 4, NULL));
    was_set("cudaMemset3D", 64 * 8 * 2, (int)cudaMemset3D(box, 0, (struct cudaExtent){64, 8, 2}));
    was_set("cudaMemset3DAsync", 64 * 8,
            (int)cudaMemset3DAsync(box, 0, (struct cudaExtent){64, 8, 1}, NULL));
}

#define COPY(name, ...) copied(#name, 500, (int)DRIVER(#name, name)(__VA_ARGS__))
#define SET(name, size, ...) was_set(#name, size, (int)DRIVER(#name, name)(__VA_ARGS__))

static void driver_copies(void)
{
    CUcontext context;
    cuCtxGetCurrent(&context);
    COPY(cuMemcpy, at, from, 500);
    COPY(cuMemcpyAsync, at, from, 500, NULL);
    COPY(cuMemcpyHtoD, at, host, 500);
    COPY(cuMemcpyHtoDAsync, at, host, 500, NULL);
    COPY(cuMemcpyDtoH, host, from, 500);
    COPY(cuMemcpyDtoHAsync, host, from, 500, NULL);
    COPY(cuMemcpyDtoD, at, from, 500);
    COPY(cuMemcpyDtoDAsync, at, from, 500, NULL);
    COPY(cuMemcpyPeer, at, context, from, context, 500);
    COPY(cuMemcpyPeerAsync, at, context, from, context, 500, NULL);
    CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = 100,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = at,
                          .dstPitch = 100,
                          .WidthInBytes = 100,
                          .Height = 5};
    COPY(cuMemcpy2D, &flat);
    COPY(cuMemcpy2DUnaligned, &flat);
    COPY(cuMemcpy2DAsync, &flat, NULL);
    CUDA_MEMCPY3D deep = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = from,
                          .srcPitch = 50,
                          .srcHeight = 5,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = host,
                          .dstPitch = 50,
                          .dstHeight = 5,
                          .WidthInBytes = 50,
                          .Height = 5,
                          .Depth = 2};
    COPY(cuMemcpy3D, &deep);
    COPY(cuMemcpy3DAsync, &deep, NULL);
}

static void driver_sets(void)
{
    SET(cuMemsetD8, 10, at, 1, 10);
    SET(cuMemsetD8Async, 10, at, 1, 10, NULL);
    SET(cuMemsetD16, 20, at, 1, 10);
    SET(cuMemsetD16Async, 20, at, 1, 10, NULL);
    SET(cuMemsetD32, 40, at, 1, 10);
    SET(cuMemsetD32Async, 40, at, 1, 10, NULL);
    SET(cuMemsetD2D8, 12, at, 64, 1, 4, 3);
    SET(cuMemsetD2D8Async, 12, at, 64, 1, 4, 3, NULL);
    SET(cuMemsetD2D16, 24, at, 64, 1, 4, 3);
    SET(cuMemsetD2D16Async, 24, at, 64, 1, 4, 3, NULL);
    SET(cuMemsetD2D32, 48, at, 64, 1, 4, 3);
    SET(cuMemsetD2D32Async, 48, at, 64, 1, 4, 3, NULL);
}

int main(int argc, char **argv)
{
    route = argc > 1 ? argv[1] : "linked";
    cudaMemset(NULL, 0, 1); /* fails, and no recording begins with it */
    expect("cuda_malloc", "cudaMalloc", 4096, (int)cudaMalloc(&a, 4096));
    expect("cuda_malloc", "cudaMalloc", 4096, (int)cudaMalloc(&b, 4096));
    at = (CUdeviceptr)(uintptr_t)a;
    from = (CUdeviceptr)(uintptr_t)b;
    if (!cudaMemcpy(a, b, (size_t)1 << 40, cudaMemcpyDeviceToDevice))
        puts("failed: more was copied than there is");
    runtime_copies();
    runtime_sets();
    driver_copies();
    driver_sets();
    expect("cuda_free", "cudaFree", 0, (int)cudaFree(a));
    expect("cuda_free", "cudaFree", 0, (int)cudaFree(b));
    return 0;
}
