/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture. */
#include "core/streams/capture.h"

#include <errno.h>

#include "graph.h"

/* A thread's capture mode. Programs exchange it around calls that a capture forbids. */
api_result API(ThreadExchangeStreamCaptureMode)(api_capture_mode *mode)
{
    int old = sim_thread.capture_mode;

    if (!mode || (unsigned)*mode > SIM_CAPTURE_RELAXED)
        return api_code(API_INVALID_VALUE);
    sim_thread.capture_mode = (int)*mode;
    *mode = (api_capture_mode)old;
    return api_code(API_SUCCESS);
}

static api_result begin(api_stream stream, api_graph graph, const api_node *before, size_t count,
                        api_capture_mode mode)
{
    int error;

    if ((uintptr_t)stream <= 2)
        return api_code(API_CAPTURE_UNSUPPORTED);
    error = sim_capture_begin(sim_stream(stream), (enum sim_capture_mode)mode, graph_of(graph),
                              nodes_of(before), count);
    return error == -EBUSY ? api_code(API_ILLEGAL_STATE) : api_error(error);
}

api_result API(StreamBeginCapture)(api_stream stream, api_capture_mode mode)
{
    return begin(stream, NULL, NULL, 0, mode);
}

api_result API(StreamBeginCaptureToGraph)(api_stream stream, api_graph graph,
                                          const api_node *before, const api_edge *edges,
                                          size_t count, api_capture_mode mode)
{
    (void)edges;
    if (!graph || (count && !before))
        return api_code(API_INVALID_VALUE);
    return begin(stream, graph, before, count, mode);
}

api_result API(StreamEndCapture)(api_stream stream, api_graph *out)
{
    struct sim_graph *graph;
    int error;

    if (!out)
        return api_code(API_INVALID_VALUE);
    error = sim_capture_end(sim_stream(stream), &graph);
    *out = (api_graph)graph;
    switch (error) {
    case 0:
        return api_code(API_SUCCESS);
    case -EPERM:
        return api_code(API_CAPTURE_UNMATCHED);
    case -ESRCH:
        return api_code(API_CAPTURE_WRONG_THREAD);
    case -ECHILD:
        return api_code(API_CAPTURE_UNJOINED);
    case -ECANCELED:
        return api_code(API_CAPTURE_INVALIDATED);
    default:
        return api_code(API_ILLEGAL_STATE);
    }
}

api_result API(StreamIsCapturing)(api_stream stream, api_capture_status *status)
{
    struct sim_graph *graph;
    uint64_t id;

    *status = (api_capture_status)sim_capture_status(sim_stream(stream), &id, &graph);
    return api_code(API_SUCCESS);
}

api_result API(StreamGetCaptureInfo)(api_stream stream, api_capture_status *status,
                                     api_capture_id *id, api_graph *graph, const api_node **nodes,
                                     const api_edge **edges, size_t *count)
{
    const struct sim_stream *known = sim_stream(stream);
    struct sim_graph *captured;
    uint64_t number;

    *status = (api_capture_status)sim_capture_status(known, &number, &captured);
    if (id)
        *id = number;
    if (graph)
        *graph = (api_graph)captured;
    if (nodes)
        *nodes = captured ? (const api_node *)known->tips.nodes : NULL;
    if (edges)
        *edges = NULL;
    if (count)
        *count = captured ? known->tips.count : 0;
    return api_code(API_SUCCESS);
}

api_result API(StreamUpdateCaptureDependencies)(api_stream stream, api_node *nodes,
                                                const api_edge *edges, size_t count,
                                                unsigned int flags)
{
    int error;

    (void)edges;
    if (count && !nodes)
        return api_code(API_INVALID_VALUE);
    error = sim_capture_set_tips(sim_stream(stream), nodes_of(nodes), count, !(flags & 1));
    return error == -EINVAL && !sim_stream(stream)->capture ? api_code(API_ILLEGAL_STATE)
                                                            : api_error(error);
}
