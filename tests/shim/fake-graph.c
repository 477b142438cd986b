/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's way to begin a CUDA graph, as far as CUDA sees it. */
#include "fake-graph.h"

void capture_begin(void *stream, struct pool pool, unsigned mode)
{
    (void)pool;
    cudaStreamBeginCapture(stream, mode);
}
