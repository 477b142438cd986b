/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as a whole: create, query, copy, launch. */
#include "graph.h"

#include <errno.h>
#include <string.h>

#include "api/calls.h"
#include "core/memory/pool.h"
#include "core/streams/capture.h"

CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
    if (!out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_graph *graph = sim_graph_create();
    *out = (CUgraph)graph;
    return driver_result(graph ? 0 : -ENOMEM);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    sim_graph_destroy(graph_of(graph));
    return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *out, CUgraph original)
{
    if (!out || !original)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_graph *graph = sim_graph_clone(graph_of(original));
    *out = (CUgraph)graph;
    return driver_result(graph ? 0 : -ENOMEM);
}

CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph clone)
{
    if (!out || !original || !clone)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUgraphNode)sim_graph_copy_of(graph_of(clone), node_of(original));
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- lists of nodes: without a buffer, the number is returned; excess room is cleared -------- */

struct answer {
    CUgraphNode *from, *to;
    CUgraphEdgeData *edges;
    size_t room, count;
};

static void put(struct answer *answer, struct sim_node *from, struct sim_node *to)
{
    if (answer->count < answer->room) {
        if (answer->from)
            answer->from[answer->count] = (CUgraphNode)from;
        if (answer->to)
            answer->to[answer->count] = (CUgraphNode)to;
        if (answer->edges)
            memset(&answer->edges[answer->count], 0, sizeof(*answer->edges));
    }
    answer->count++;
}

static CUresult finish(struct answer *answer, size_t *count)
{
    for (size_t i = answer->count; i < answer->room; i++) {
        if (answer->from)
            answer->from[i] = NULL;
        if (answer->to)
            answer->to[i] = NULL;
    }
    *count = answer->room && answer->room < answer->count ? answer->room : answer->count;
    return CUDA_SUCCESS;
}

static CUresult list_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count, bool roots_only)
{
    struct answer answer = {.from = nodes};
    if (!graph || !count)
        return CUDA_ERROR_INVALID_VALUE;
    answer.room = nodes ? *count : 0;
    for (size_t i = 0; i < graph_of(graph)->count; i++)
        if (!roots_only || !graph_of(graph)->nodes[i]->count)
            put(&answer, graph_of(graph)->nodes[i], NULL);
    return finish(&answer, count);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, false);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, true);
}

/* List the edges of a graph, or only those of one node if `from` or `to` is given. */
static CUresult list_edges(struct answer answer, const struct sim_graph *graph,
                           const struct sim_node *from, const struct sim_node *to, size_t *count)
{
    answer.room = answer.from || answer.to ? *count : 0;
    for (size_t i = 0; i < graph->count; i++) {
        struct sim_node *later = graph->nodes[i];
        for (size_t j = 0; j < later->count && (!to || later == to); j++)
            if (!from || later->before[j] == from)
                put(&answer, later->before[j], later);
    }
    return finish(&answer, count);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
                         size_t *count)
{
    if (!graph || !count || !from != !to)
        return CUDA_ERROR_INVALID_VALUE;
    return list_edges((struct answer){from, to, edges, 0, 0}, graph_of(graph), NULL, NULL, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                    size_t *count)
{
    if (!node || !count)
        return CUDA_ERROR_INVALID_VALUE;
    return list_edges((struct answer){.from = nodes, .edges = edges}, node_of(node)->graph, NULL,
                      node_of(node), count);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                      size_t *count)
{
    if (!node || !count)
        return CUDA_ERROR_INVALID_VALUE;
    return list_edges((struct answer){.to = nodes, .edges = edges}, node_of(node)->graph,
                      node_of(node), NULL, count);
}

static CUresult change_edges(const CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                             size_t count, int (*change)(struct sim_node *, struct sim_node *))
{
    int error = graph && (!count || (from && to)) ? 0 : -EINVAL;
    for (size_t i = 0; !error && i < count; i++)
        error = from[i] && to[i] && node_of(from[i])->graph == graph_of(graph)
                    ? change(node_of(from[i]), node_of(to[i]))
                    : -EINVAL;
    return driver_result(error);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                const CUgraphEdgeData *edges, size_t count)
{
    (void)edges;
    return change_edges(graph, from, to, count, sim_graph_connect);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count)
{
    (void)edges;
    return change_edges(graph, from, to, count, sim_graph_disconnect);
}

/* --- executable graphs ------------------------------------------------------------------- */

static CUresult instantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    if (!out || !graph)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_graph *executable = sim_graph_clone(graph_of(graph));
    if (executable)
        executable->flags = flags;
    *out = (CUgraphExec)executable;
    return driver_result(executable ? 0 : -ENOMEM);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    return instantiate(out, graph, flags);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    CUresult result;
    if (!parameters)
        return CUDA_ERROR_INVALID_VALUE;
    result = instantiate(out, graph, parameters->flags);
    parameters->hErrNode_out = NULL;
    parameters->result_out = result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec executable, cuuint64_t *flags)
{
    if (!executable || !flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = executable_of(executable)->flags;
    return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream stream)
{
    (void)stream;
    return executable ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_REPORTS(cuGraphLaunch, (CUgraphExec executable, CUstream stream), (executable, stream))
{
    struct sim_work work = {.type = SIM_NODE_GRAPH, .graph = executable_of(executable)};
    if (!executable)
        return CUDA_ERROR_INVALID_VALUE;
    int error = sim_capture_add(sim_stream(stream), &work);
    return driver_result(error == -ENOENT ? sim_graph_launch(work.graph) : error);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec executable, CUgraphNode node, unsigned int enabled)
{
    if (!executable || !node)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_node *copy = sim_graph_copy_of(executable_of(executable), node_of(node));
    if (!copy || copy->work.type > SIM_NODE_FILL) /* kernels, copies and fills only */
        return CUDA_ERROR_INVALID_VALUE;
    copy->disabled = !enabled;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec executable, CUgraphNode node, unsigned int *enabled)
{
    if (!executable || !node || !enabled)
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_node *copy = sim_graph_copy_of(executable_of(executable), node_of(node));
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    *enabled = !copy->disabled;
    return CUDA_SUCCESS;
}

/* Update a graph. *result: 0: updated; 2: the topology differs */
CUresult cuGraphExecUpdate(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    const struct sim_node *culprit;
    if (!executable || !graph || !info)
        return CUDA_ERROR_INVALID_VALUE;
    int error = sim_graph_update(executable_of(executable), graph_of(graph), &culprit);
    memset(info, 0, sizeof(*info));
    info->errorNode = (CUgraphNode)(uintptr_t)culprit;
    info->result =
        error ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED : CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return error == -EINVAL ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : driver_result(error);
}

CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
    (void)flags;
    if (!graph || !path)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_graph_draw(graph_of(graph), path) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

/* --- memory of graphs -------------------------------------------------------------------- */

CUresult cuDeviceGraphMemTrim(int device)
{
    struct sim_pool *pool = sim_pool_of_graphs(device);
    if (!pool)
        return CUDA_ERROR_INVALID_DEVICE;
    sim_pool_trim(pool, 0);
    return CUDA_SUCCESS;
}

/* Return the same four figures as a pool's, by other numbers. */
static int pool_attribute(CUgraphMem_attribute attribute)
{
    static const int attributes[] = {SIM_POOL_USED, SIM_POOL_USED_HIGH, SIM_POOL_RESERVED,
                                     SIM_POOL_RESERVED_HIGH};
    return (unsigned)attribute < 4 ? attributes[attribute] : 0;
}

CUresult cuDeviceGetGraphMemAttribute(int device, CUgraphMem_attribute attribute, void *value)
{
    struct sim_pool *pool = sim_pool_of_graphs(device);
    if (!pool || !value)
        return pool ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    return driver_result(sim_pool_get(pool, pool_attribute(attribute), value));
}

CUresult cuDeviceSetGraphMemAttribute(int device, CUgraphMem_attribute attribute, void *value)
{
    struct sim_pool *pool = sim_pool_of_graphs(device);
    if (!pool || !value)
        return pool ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    return driver_result(sim_pool_set(pool, pool_attribute(attribute), value));
}

/* --- user objects ------------------------------------------------------------------------ */

static struct sim_object *object_of(CUuserObject handle)
{
    return (struct sim_object *)handle;
}

CUresult cuUserObjectCreate(CUuserObject *out, void *data, CUhostFn destroy, unsigned int count,
                            unsigned int flags)
{
    (void)flags; /* no destructor needs to wait for the device: no work is pending */
    if (!out || !destroy || !count)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUuserObject)sim_object_create(data, destroy, count);
    return driver_result(*out ? 0 : -ENOMEM);
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    return driver_result(sim_object_retain(object_of(object), count));
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    return driver_result(sim_object_release(object_of(object), count));
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags)
{
    return driver_result(sim_graph_hold(graph_of(graph), object_of(object), count, flags & 1));
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_result(sim_graph_let_go(graph_of(graph), object_of(object), count));
}

CUresult add_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                  const struct sim_work *work)
{
    struct sim_node *node;
    if (!out || !graph || (count && !before))
        return CUDA_ERROR_INVALID_VALUE;
    int error = sim_graph_add(graph_of(graph), work, nodes_of(before), count, &node);
    if (!error)
        *out = (CUgraphNode)node;
    return driver_result(error);
}

const struct sim_work *work_of_node(CUgraphNode node, enum sim_node_type type)
{
    return node && node_of(node)->work.type == type ? &node_of(node)->work : NULL;
}
