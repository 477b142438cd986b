/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs in pools, as PyTorch captures them. */
#ifndef MT_TESTS_SHIM_FAKE_GRAPH_H
#define MT_TESTS_SHIM_FAKE_GRAPH_H

#include <stdint.h>

unsigned cudaStreamBeginCapture(void *stream, unsigned mode);
unsigned cudaStreamEndCapture(void *stream, void **graph);

struct pool {
    uint64_t first, second;
};

void capture_begin(void *stream, struct pool pool, unsigned mode) __asm__(
    "_ZN2at4cuda9CUDAGraph13capture_beginESt4pairIyyE21cudaStreamCaptureMode");

/* An empty graph. */
static inline void capture_in(uint64_t pool)
{
    void *graph;
    capture_begin(&graph, (struct pool){0, pool}, 0);
    cudaStreamEndCapture(&graph, &graph);
}

#endif
