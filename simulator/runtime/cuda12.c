/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of CUDA 12's runtime with other parameters than CUDA 13's. The headers declare the
 * newer form of these names: no header of CUDA is included here.
 */
#include "core/device/device.h"
#include "core/memory/memory.h"

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

/* --- before edges had data --------------------------------------------------------------- */

struct CUgraphNode_st;
typedef struct CUgraph_st *graph_t;
typedef struct CUgraphNode_st *node_t;

int cudaStreamUpdateCaptureDependencies_v2(struct CUstream_st *stream, node_t *nodes,
                                           const void *edges, size_t count, unsigned flags);
int cudaStreamUpdateCaptureDependencies(struct CUstream_st *stream, node_t *nodes, size_t count,
                                        unsigned flags);
int cudaGraphGetEdges_v2(graph_t graph, node_t *from, node_t *to, void *edges, size_t *count);
int cudaGraphGetEdges(graph_t graph, node_t *from, node_t *to, size_t *count);
int cudaGraphNodeGetDependencies_v2(node_t node, node_t *nodes, void *edges, size_t *count);
int cudaGraphNodeGetDependencies(node_t node, node_t *nodes, size_t *count);
int cudaGraphNodeGetDependentNodes_v2(node_t node, node_t *nodes, void *edges, size_t *count);
int cudaGraphNodeGetDependentNodes(node_t node, node_t *nodes, size_t *count);
int cudaGraphAddDependencies_v2(graph_t graph, const node_t *from, const node_t *to,
                                const void *edges, size_t count);
int cudaGraphAddDependencies(graph_t graph, const node_t *from, const node_t *to, size_t count);
int cudaGraphRemoveDependencies_v2(graph_t graph, const node_t *from, const node_t *to,
                                   const void *edges, size_t count);
int cudaGraphRemoveDependencies(graph_t graph, const node_t *from, const node_t *to, size_t count);
int cudaGraphAddNode_v2(node_t *out, graph_t graph, const node_t *before, const void *edges,
                        size_t count, void *parameters);
int cudaGraphAddNode(node_t *out, graph_t graph, const node_t *before, size_t count,
                     void *parameters);

int cudaStreamUpdateCaptureDependencies(struct CUstream_st *stream, node_t *nodes, size_t count,
                                        unsigned flags)
{
    return cudaStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}

int cudaGraphGetEdges(graph_t graph, node_t *from, node_t *to, size_t *count)
{
    return cudaGraphGetEdges_v2(graph, from, to, NULL, count);
}

int cudaGraphNodeGetDependencies(node_t node, node_t *nodes, size_t *count)
{
    return cudaGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

int cudaGraphNodeGetDependentNodes(node_t node, node_t *nodes, size_t *count)
{
    return cudaGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

int cudaGraphAddDependencies(graph_t graph, const node_t *from, const node_t *to, size_t count)
{
    return cudaGraphAddDependencies_v2(graph, from, to, NULL, count);
}

int cudaGraphRemoveDependencies(graph_t graph, const node_t *from, const node_t *to, size_t count)
{
    return cudaGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

int cudaGraphAddNode(node_t *out, graph_t graph, const node_t *before, size_t count,
                     void *parameters)
{
    return cudaGraphAddNode_v2(out, graph, before, NULL, count, parameters);
}
