/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noticed-calls ROUTE: copies by calls of which memtap knows no parameters, with arguments in
 * registers and on the stack, and prints their names; 1: one of them failed, or its bytes are not
 * there.
 */
#include "routes.h"

enum { WIDTH = 64, ROWS = 8, BYTES = WIDTH * ROWS };

static char host[BYTES], back[BYTES];
static void *a, *b;
static int faults;

static void called(const char *name, int result)
{
    printf("%s\n", name);
    cudaMemcpy(back, b, BYTES, cudaMemcpyDeviceToHost);
    if (result || memcmp(host, back, BYTES)) {
        fprintf(stderr, "%s: result %d, or other bytes\n", name, result);
        faults++;
    }
    cudaMemset(b, 0, BYTES);
}

static void runtime_calls(void)
{
    struct cudaChannelFormatDesc texel = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaArray_t array;
    cudaMallocArray(&array, &texel, WIDTH, ROWS, 0);
    int result =
        (int)cudaMemcpy2DToArray(array, 0, 0, a, WIDTH, WIDTH, ROWS, cudaMemcpyDeviceToDevice);
    printf("cudaMemcpy2DToArray\n");
    if (!result)
        result = (int)cudaMemcpy2DFromArrayAsync(b, WIDTH, array, 0, 0, WIDTH, ROWS,
                                                 cudaMemcpyDeviceToDevice, NULL);
    called("cudaMemcpy2DFromArrayAsync", result);
    size_t size = BYTES, first = 0;
    const void *from = a;
    struct cudaMemcpyAttributes how = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    called("cudaMemcpyBatchAsync",
           (int)cudaMemcpyBatchAsync(&b, &from, &size, 1, &how, &first, 1, NULL));
    struct cudaMemcpy3DPeerParms box = {.srcPtr = {a, WIDTH, WIDTH, ROWS},
                                        .dstPtr = {b, WIDTH, WIDTH, ROWS},
                                        .extent = {WIDTH, ROWS, 1}};
    called("cudaMemcpy3DPeer", (int)cudaMemcpy3DPeer(&box));
}

static void graph(void)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    cudaMemcpyAsync(b, a, BYTES, cudaMemcpyDeviceToDevice, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    called("cudaGraphLaunch", (int)cudaGraphLaunch(executable, stream));
}

static void driver_calls(void)
{
    CUDA_ARRAY_DESCRIPTOR wanted = {
        .Width = BYTES, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
    CUarray array;
    cuArrayCreate(&array, &wanted);
    int result = (int)DRIVER("cuMemcpyDtoA", cuMemcpyDtoA)(array, 0, (CUdeviceptr)a, BYTES);
    printf("cuMemcpyDtoA_v2\n");
    if (!result)
        result = (int)DRIVER("cuMemcpyAtoD", cuMemcpyAtoD)((CUdeviceptr)b, array, 0, BYTES);
    called("cuMemcpyAtoD_v2", result);
}

int main(int argc, char **argv)
{
    route = argc > 1 ? argv[1] : "linked";
    for (int i = 0; i < BYTES; i++)
        host[i] = (char)(i + 1);
    if (cudaMalloc(&a, BYTES) || cudaMalloc(&b, BYTES) ||
        cudaMemcpy(a, host, BYTES, cudaMemcpyHostToDevice))
        return 2;
    runtime_calls();
    graph();
    driver_calls();
    return faults != 0;
}
