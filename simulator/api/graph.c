/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as a whole: create, query, copy, launch. */
#include "graph.h"

#include <errno.h>
#include <string.h>

#include "calls.h"
#include "core/memory/pool.h"
#include "core/streams/capture.h"

api_result API(GraphCreate)(api_graph *out, unsigned int flags)
{
    struct sim_graph *graph;

    if (!out || flags)
        return api_code(API_INVALID_VALUE);
    graph = sim_graph_create();
    *out = (api_graph)graph;
    return api_error(graph ? 0 : -ENOMEM);
}

api_result API(GraphDestroy)(api_graph graph)
{
    if (!graph)
        return api_code(API_INVALID_VALUE);
    sim_graph_destroy(graph_of(graph));
    return api_code(API_SUCCESS);
}

api_result API(GraphClone)(api_graph *out, api_graph original)
{
    struct sim_graph *graph;

    if (!out || !original)
        return api_code(API_INVALID_VALUE);
    graph = sim_graph_clone(graph_of(original));
    *out = (api_graph)graph;
    return api_error(graph ? 0 : -ENOMEM);
}

api_result API(GraphNodeFindInClone)(api_node *out, api_node original, api_graph clone)
{
    if (!out || !original || !clone)
        return api_code(API_INVALID_VALUE);
    *out = (api_node)sim_graph_copy_of(graph_of(clone), node_of(original));
    return api_code(*out ? API_SUCCESS : API_INVALID_VALUE);
}

/* --- lists of nodes: without room the number is asked for, too much room is cleared -------- */

struct answer {
    api_node *from, *to;
    api_edge *edges;
    size_t room, count;
};

static void put(struct answer *answer, struct sim_node *from, struct sim_node *to)
{
    if (answer->count < answer->room) {
        if (answer->from)
            answer->from[answer->count] = (api_node)from;
        if (answer->to)
            answer->to[answer->count] = (api_node)to;
        if (answer->edges)
            memset(&answer->edges[answer->count], 0, sizeof(*answer->edges));
    }
    answer->count++;
}

static api_result finish(struct answer *answer, size_t *count)
{
    for (size_t i = answer->count; i < answer->room; i++) {
        if (answer->from)
            answer->from[i] = NULL;
        if (answer->to)
            answer->to[i] = NULL;
    }
    *count = answer->room && answer->room < answer->count ? answer->room : answer->count;
    return api_code(API_SUCCESS);
}

api_result API(GraphGetNodes)(api_graph graph, api_node *nodes, size_t *count)
{
    struct answer answer = {.from = nodes};

    if (!graph || !count)
        return api_code(API_INVALID_VALUE);
    answer.room = nodes ? *count : 0;
    for (size_t i = 0; i < graph_of(graph)->count; i++)
        put(&answer, graph_of(graph)->nodes[i], NULL);
    return finish(&answer, count);
}

api_result API(GraphGetRootNodes)(api_graph graph, api_node *nodes, size_t *count)
{
    struct answer answer = {.from = nodes};

    if (!graph || !count)
        return api_code(API_INVALID_VALUE);
    answer.room = nodes ? *count : 0;
    for (size_t i = 0; i < graph_of(graph)->count; i++)
        if (!graph_of(graph)->nodes[i]->count)
            put(&answer, graph_of(graph)->nodes[i], NULL);
    return finish(&answer, count);
}

/* The edges of a graph; of one node only when `from` or `to` is given. */
static void put_edges(struct answer *answer, const struct sim_graph *graph,
                      const struct sim_node *from, const struct sim_node *to)
{
    for (size_t i = 0; i < graph->count; i++) {
        struct sim_node *later = graph->nodes[i];

        for (size_t j = 0; j < later->count && (!to || later == to); j++)
            if (!from || later->before[j] == from)
                put(answer, later->before[j], later);
    }
}

api_result API(GraphGetEdges)(api_graph graph, api_node *from, api_node *to, api_edge *edges,
                              size_t *count)
{
    struct answer answer = {from, to, edges, 0, 0};

    if (!graph || !count || !from != !to)
        return api_code(API_INVALID_VALUE);
    answer.room = from ? *count : 0;
    put_edges(&answer, graph_of(graph), NULL, NULL);
    return finish(&answer, count);
}

api_result API(GraphNodeGetDependencies)(api_node node, api_node *nodes, api_edge *edges,
                                         size_t *count)
{
    struct answer answer = {.from = nodes, .edges = edges};

    if (!node || !count)
        return api_code(API_INVALID_VALUE);
    answer.room = nodes ? *count : 0;
    put_edges(&answer, node_of(node)->graph, NULL, node_of(node));
    return finish(&answer, count);
}

api_result API(GraphNodeGetDependentNodes)(api_node node, api_node *nodes, api_edge *edges,
                                           size_t *count)
{
    struct answer answer = {.to = nodes, .edges = edges};

    if (!node || !count)
        return api_code(API_INVALID_VALUE);
    answer.room = nodes ? *count : 0;
    put_edges(&answer, node_of(node)->graph, node_of(node), NULL);
    return finish(&answer, count);
}

static api_result change_edges(const api_graph graph, const api_node *from, const api_node *to,
                               size_t count, int (*change)(struct sim_node *, struct sim_node *))
{
    int error = graph && (!count || (from && to)) ? 0 : -EINVAL;

    for (size_t i = 0; !error && i < count; i++)
        error = from[i] && to[i] && node_of(from[i])->graph == graph_of(graph)
                    ? change(node_of(from[i]), node_of(to[i]))
                    : -EINVAL;
    return api_error(error);
}

api_result API(GraphAddDependencies)(api_graph graph, const api_node *from, const api_node *to,
                                     const api_edge *edges, size_t count)
{
    (void)edges;
    return change_edges(graph, from, to, count, sim_graph_connect);
}

api_result API(GraphRemoveDependencies)(api_graph graph, const api_node *from, const api_node *to,
                                        const api_edge *edges, size_t count)
{
    (void)edges;
    return change_edges(graph, from, to, count, sim_graph_disconnect);
}

/* --- executable graphs ------------------------------------------------------------------- */

static api_result instantiate(api_executable *out, api_graph graph, unsigned long long flags)
{
    struct sim_graph *executable;

    if (!out || !graph)
        return api_code(API_INVALID_VALUE);
    executable = sim_graph_clone(graph_of(graph));
    if (executable)
        executable->flags = flags;
    *out = (api_executable)executable;
    return api_error(executable ? 0 : -ENOMEM);
}

#ifndef SIM_DRIVER /* one and the same function there */
api_result API(GraphInstantiate)(api_executable *out, api_graph graph, unsigned long long flags)
{
    return instantiate(out, graph, flags);
}
#endif

api_result API(GraphInstantiateWithFlags)(api_executable *out, api_graph graph,
                                          unsigned long long flags)
{
    return instantiate(out, graph, flags);
}

api_result API(GraphInstantiateWithParams)(api_executable *out, api_graph graph,
                                           api_instantiation *parameters)
{
    api_result result;

    if (!parameters)
        return api_code(API_INVALID_VALUE);
    result = instantiate(out, graph, parameters->flags);
#ifdef SIM_DRIVER
    parameters->hErrNode_out = NULL;
#else
    parameters->errNode_out = NULL;
#endif
    parameters->result_out = (__typeof__(parameters->result_out))(result ? 1 : 0);
    return result;
}

api_result API(GraphExecGetFlags)(api_executable executable, api_flags *flags)
{
    if (!executable || !flags)
        return api_code(API_INVALID_VALUE);
    *flags = executable_of(executable)->flags;
    return api_code(API_SUCCESS);
}

api_result API(GraphExecDestroy)(api_executable executable)
{
    return API(GraphDestroy)((api_graph)executable);
}

api_result API(GraphUpload)(api_executable executable, api_stream stream)
{
    (void)stream;
    return api_code(executable ? API_SUCCESS : API_INVALID_VALUE);
}

static api_result launch(api_executable executable, api_stream stream)
{
    struct sim_work work = {.type = SIM_NODE_GRAPH, .graph = executable_of(executable)};
    int error;

    if (!executable)
        return api_code(API_INVALID_VALUE);
    error = sim_capture_add(sim_stream(stream), &work);
    return api_error(error == -ENOENT ? sim_graph_launch(work.graph) : error);
}

api_result API(GraphLaunch)(api_executable executable, api_stream stream)
{
    return API_CALL(cudaGraphLaunch_v10000, cuGraphLaunch, (executable, stream),
                    launch(executable, stream));
}

api_result API(GraphNodeSetEnabled)(api_executable executable, api_node node, unsigned int enabled)
{
    struct sim_node *copy;

    if (!executable || !node)
        return api_code(API_INVALID_VALUE);
    copy = sim_graph_copy_of(executable_of(executable), node_of(node));
    if (!copy || copy->work.type > SIM_NODE_FILL) /* kernels, copies and fills only */
        return api_code(API_INVALID_VALUE);
    copy->disabled = !enabled;
    return api_code(API_SUCCESS);
}

api_result API(GraphNodeGetEnabled)(api_executable executable, api_node node, unsigned int *enabled)
{
    const struct sim_node *copy;

    if (!executable || !node || !enabled)
        return api_code(API_INVALID_VALUE);
    copy = sim_graph_copy_of(executable_of(executable), node_of(node));
    if (!copy)
        return api_code(API_INVALID_VALUE);
    *enabled = !copy->disabled;
    return api_code(API_SUCCESS);
}

/* *result: 0: updated; 2: the topology differs */
api_result API(GraphExecUpdate)(api_executable executable, api_graph graph, api_update_result *info)
{
    const struct sim_node *culprit;
    int error;

    if (!executable || !graph || !info)
        return api_code(API_INVALID_VALUE);
    error = sim_graph_update(executable_of(executable), graph_of(graph), &culprit);
    memset(info, 0, sizeof(*info));
    info->errorNode = (api_node)(uintptr_t)culprit;
    info->result = (__typeof__(info->result))(error ? 2 : 0);
    return error == -EINVAL ? api_code(API_UPDATE_FAILED) : api_error(error);
}

api_result API(GraphDebugDotPrint)(api_graph graph, const char *path, unsigned int flags)
{
    (void)flags;
    if (!graph || !path)
        return api_code(API_INVALID_VALUE);
    return sim_graph_draw(graph_of(graph), path) ? api_code(304) : api_code(API_SUCCESS);
}

/* --- memory of graphs -------------------------------------------------------------------- */

api_result API(DeviceGraphMemTrim)(int device)
{
    struct sim_pool *pool = sim_pool_of_graphs(device);

    if (!pool)
        return api_code(API_INVALID_DEVICE);
    sim_pool_trim(pool, 0);
    return api_code(API_SUCCESS);
}

/* The same four figures as a pool's, by other numbers. */
static int pool_attribute(api_graph_memory_attribute attribute)
{
    static const int attributes[] = {SIM_POOL_USED, SIM_POOL_USED_HIGH, SIM_POOL_RESERVED,
                                     SIM_POOL_RESERVED_HIGH};

    return (unsigned)attribute < 4 ? attributes[attribute] : 0;
}

api_result API(DeviceGetGraphMemAttribute)(int device, api_graph_memory_attribute attribute,
                                           void *value)
{
    struct sim_pool *pool = sim_pool_of_graphs(device);

    if (!pool || !value)
        return api_code(pool ? API_INVALID_VALUE : API_INVALID_DEVICE);
    return api_error(sim_pool_get(pool, pool_attribute(attribute), value));
}

api_result API(DeviceSetGraphMemAttribute)(int device, api_graph_memory_attribute attribute,
                                           void *value)
{
    struct sim_pool *pool = sim_pool_of_graphs(device);

    if (!pool || !value)
        return api_code(pool ? API_INVALID_VALUE : API_INVALID_DEVICE);
    return api_error(sim_pool_set(pool, pool_attribute(attribute), value));
}

/* --- user objects ------------------------------------------------------------------------ */

static struct sim_object *object_of(api_user_object handle)
{
    return (struct sim_object *)handle;
}

api_result API(UserObjectCreate)(api_user_object *out, void *data, api_host_function destroy,
                                 unsigned int count, unsigned int flags)
{
    (void)flags; /* no destructor waits for the device: there is nothing to wait for */
    if (!out || !destroy || !count)
        return api_code(API_INVALID_VALUE);
    *out = (api_user_object)sim_object_create(data, destroy, count);
    return api_error(*out ? 0 : -ENOMEM);
}

api_result API(UserObjectRetain)(api_user_object object, unsigned int count)
{
    return api_error(sim_object_retain(object_of(object), count));
}

api_result API(UserObjectRelease)(api_user_object object, unsigned int count)
{
    return api_error(sim_object_release(object_of(object), count));
}

api_result API(GraphRetainUserObject)(api_graph graph, api_user_object object, unsigned int count,
                                      unsigned int flags)
{
    return api_error(sim_graph_hold(graph_of(graph), object_of(object), count, flags & 1));
}

api_result API(GraphReleaseUserObject)(api_graph graph, api_user_object object, unsigned int count)
{
    if (!graph)
        return api_code(API_INVALID_VALUE);
    return api_error(sim_graph_let_go(graph_of(graph), object_of(object), count));
}
