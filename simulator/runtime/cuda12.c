/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUDA 12's runtime has in another form than CUDA 13's. The headers declare the newer form of
 * these names: no header of CUDA is included here.
 */
#include "core/core.h"

struct CUstream_st;
struct CUgraph_st;

/* The newer form, under the name that it had in CUDA 12. */
int cudaStreamGetCaptureInfo_v3(struct CUstream_st *stream, int *status, unsigned long long *id,
                                struct CUgraph_st **graph, const void **dependencies,
                                const void **edges, size_t *count);
int cudaStreamGetCaptureInfo_v2(struct CUstream_st *stream, int *status, unsigned long long *id,
                                struct CUgraph_st **graph, const void **dependencies,
                                size_t *count);
int cudaStreamGetCaptureInfo(struct CUstream_st *stream, int *status, unsigned long long *id);

int cudaStreamGetCaptureInfo_v2(struct CUstream_st *stream, int *status, unsigned long long *id,
                                struct CUgraph_st **graph, const void **dependencies, size_t *count)
{
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, NULL, count);
}

int cudaStreamGetCaptureInfo(struct CUstream_st *stream, int *status, unsigned long long *id)
{
    return cudaStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}
