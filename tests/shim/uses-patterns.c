/* SPDX-License-Identifier: Apache-2.0 */
/* Each block has a size of its own, in KiB; at the highest moment each shows a pattern of use. */
#include <cuda_runtime_api.h>
#include <stdint.h>

typedef struct cublasContext *handle;
int cublasCreate_v2(handle *handle);
int cublasSgemm_v2(handle handle, int a_turned, int b_turned, int m, int n, int k,
                   const float *alpha, const float *a, int lda, const float *b, int ldb,
                   const float *beta, float *c, int ldc);

#define KIB 1024
static handle blas;

static __attribute__((noinline)) void multiply(const float *a, const float *b, float *c)
{
    const float one = 1;
    cublasSgemm_v2(blas, 0, 0, 8, 8, 8, &one, a, 8, b, 8, &one, c, 8);
}

static float *allocate(size_t kib)
{
    void *memory = NULL;
    cudaMalloc(&memory, kib * KIB);
    return memory;
}

int main(void)
{
    float back;
    cublasCreate_v2(&blas);
    float *never = allocate(1024);
    float *early = allocate(2048);
    float *late = allocate(4096);
    cudaMemset(late, 0, 4096 * KIB);
    float *idle = allocate(8192);
    cudaMemset(idle, 0, 8192 * KIB);
    multiply(late, late, idle);
    float *written = allocate(16384);
    cudaMemset(written, 0, 16384 * KIB);
    float *leaked = allocate(32768);
    multiply(leaked, leaked, leaked);
    leaked = NULL;
    float *table = allocate(64), *passed = allocate(512);
    cudaMemcpy(table, &passed, sizeof passed, cudaMemcpyHostToDevice);
    cudaMemcpy(&back, table, sizeof back, cudaMemcpyDeviceToHost);
    float *captured = allocate(256), *twin = allocate(4096);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    multiply(captured, captured, captured);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&replay, graph, 0);
    multiply(twin, twin, table);
    float *top = allocate(65536);
    for (int i = 0; i < 20000; i++) /* far more than a quarter of the run */
        multiply(twin, top, table);
    cudaFree(top);
    cudaGraphLaunch(replay, stream);
    multiply(early, early, twin);
    multiply(idle, idle, twin);
    cudaFree(never);
    cudaFree(early);
    cudaFree(late);
    cudaFree(idle);
    cudaFree(written);
    cudaFree(passed);
    cudaFree(table);
    cudaFree(captured);
    cudaFree(twin);
    return 0;
}
