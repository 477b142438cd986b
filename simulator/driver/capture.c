/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture. */
#include "core/streams/capture.h"

#include <errno.h>

#include "graph.h"

/* Exchange a thread's capture mode. Programs do so around calls that a capture forbids. */
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    int old = sim_thread.capture_mode;
    if (!mode || (unsigned)*mode > SIM_CAPTURE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    sim_thread.capture_mode = (int)*mode;
    *mode = (CUstreamCaptureMode)old;
    return CUDA_SUCCESS;
}

static CUresult begin(CUstream stream, CUgraph graph, const CUgraphNode *before, size_t count,
                      CUstreamCaptureMode mode)
{
    if ((uintptr_t)stream <= 2)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    int error = sim_capture_begin(sim_stream(stream), (enum sim_capture_mode)mode, graph_of(graph),
                                  nodes_of(before), count);
    return error == -EBUSY ? CUDA_ERROR_ILLEGAL_STATE : driver_result(error);
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    return begin(stream, NULL, NULL, 0, mode);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *before,
                                     const CUgraphEdgeData *edges, size_t count,
                                     CUstreamCaptureMode mode)
{
    (void)edges;
    if (!graph || (count && !before))
        return CUDA_ERROR_INVALID_VALUE;
    return begin(stream, graph, before, count, mode);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *out)
{
    struct sim_graph *graph;
    int error;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    error = sim_capture_end(sim_stream(stream), &graph);
    *out = (CUgraph)graph;
    switch (error) {
    case 0:
        return CUDA_SUCCESS;
    case -EPERM:
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    case -ESRCH:
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    case -ECHILD:
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    case -ECANCELED:
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    default:
        return CUDA_ERROR_ILLEGAL_STATE;
    }
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    struct sim_graph *graph;
    uint64_t id;
    *status = (CUstreamCaptureStatus)sim_capture_status(sim_stream(stream), &id, &graph);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                CUgraph *graph, const CUgraphNode **nodes,
                                const CUgraphEdgeData **edges, size_t *count)
{
    const struct sim_stream *known = sim_stream(stream);
    struct sim_graph *captured;
    uint64_t number;
    *status = (CUstreamCaptureStatus)sim_capture_status(known, &number, &captured);
    if (id)
        *id = number;
    if (graph)
        *graph = (CUgraph)captured;
    if (nodes)
        *nodes = captured ? (const CUgraphNode *)known->tips.nodes : NULL;
    if (edges)
        *edges = NULL;
    if (count)
        *count = captured ? known->tips.count : 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes,
                                           const CUgraphEdgeData *edges, size_t count,
                                           unsigned int flags)
{
    (void)edges;
    if (count && !nodes)
        return CUDA_ERROR_INVALID_VALUE;
    int error = sim_capture_set_tips(sim_stream(stream), nodes_of(nodes), count, !(flags & 1));
    return error == -EINVAL && !sim_stream(stream)->capture ? CUDA_ERROR_ILLEGAL_STATE
                                                            : driver_result(error);
}
