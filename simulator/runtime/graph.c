/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs that are captured. Graphs that a program builds of nodes are not modelled. */
#include <errno.h>
#include <stdlib.h>

#include "runtime.h"

/* A thread's way of capturing, which programs exchange around calls that capture forbids. */
static _Thread_local enum cudaStreamCaptureMode thread_mode
    __attribute__((tls_model("initial-exec")));

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode old = thread_mode;

    thread_mode = *mode;
    *mode = old;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    int error;

    (void)mode;
    if ((uintptr_t)stream <= 2)
        return runtime_result(cudaErrorStreamCaptureUnsupported);
    error = sim_capture_begin(sim_stream(stream));
    return error == -EBUSY ? runtime_result(cudaErrorIllegalState) : runtime_error(error);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    switch (sim_capture_end(sim_stream(stream), (struct sim_graph **)graph)) {
    case 0:
        return cudaSuccess;
    case -EPERM:
        return runtime_result(cudaErrorStreamCaptureUnmatched);
    case -ECANCELED:
        return runtime_result(cudaErrorStreamCaptureInvalidated);
    default:
        return runtime_result(cudaErrorIllegalState);
    }
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    struct sim_graph *graph;
    uint64_t id;

    *status = (enum cudaStreamCaptureStatus)sim_capture_status(sim_stream(stream), &id, &graph);
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
    struct sim_graph *captured;
    uint64_t number;

    *status =
        (enum cudaStreamCaptureStatus)sim_capture_status(sim_stream(stream), &number, &captured);
    if (id)
        *id = number;
    if (graph)
        *graph = (cudaGraph_t)captured;
    if (dependencies)
        *dependencies = NULL;
    if (edges)
        *edges = NULL;
    if (count)
        *count = 0;
    return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned int flags)
{
    (void)flags;
    *out = (cudaGraph_t)sim_graph_create();
    return runtime_result(*out ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!graph)
        return runtime_result(cudaErrorInvalidValue);
    sim_graph_release((struct sim_graph *)graph);
    return cudaSuccess;
}

/* What was captured is one node, whatever it was. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    if (!graph || !count)
        return runtime_result(cudaErrorInvalidValue);
    if (nodes && *count)
        nodes[0] = (cudaGraphNode_t)graph;
    *count = 1;
    return cudaSuccess;
}

/* An executable graph is the graph that it was made of, held once more. */
static cudaError_t instantiate(cudaGraphExec_t *out, cudaGraph_t graph)
{
    if (!out || !graph)
        return runtime_result(cudaErrorInvalidValue);
    sim_graph_retain((struct sim_graph *)graph);
    *out = (cudaGraphExec_t)graph;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    return instantiate(out, graph);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph,
                                          unsigned long long flags)
{
    (void)flags;
    return instantiate(out, graph);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    return cudaGraphDestroy((cudaGraph_t)graph);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    (void)stream;
    if (!graph)
        return runtime_result(cudaErrorInvalidValue);
    sim_graph_launch((struct sim_graph *)graph);
    return cudaSuccess;
}
