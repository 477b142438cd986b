/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of graphs: each kind with its parameters. */
#include <errno.h>
#include <string.h>

#include "core/streams/capture.h"
#include "graph.h"

#ifdef SIM_DRIVER
#define CONTEXT(name) , CUcontext name
#else
#define CONTEXT(name)
#endif

api_result add_node(api_node *out, api_graph graph, const api_node *before, size_t count,
                    const struct sim_work *work)
{
    struct sim_node *node;
    int error;

    if (!out || !graph || (count && !before))
        return api_code(API_INVALID_VALUE);
    error = sim_graph_add(graph_of(graph), work, nodes_of(before), count, &node);
    if (!error)
        *out = (api_node)node;
    return api_error(error);
}

const struct sim_work *work_of_node(api_node node, enum sim_node_type type)
{
    return node && node_of(node)->work.type == type ? &node_of(node)->work : NULL;
}

api_result change_node(api_node node, const struct sim_work *work)
{
    return api_error(node ? sim_node_change(node_of(node), work) : -EINVAL);
}

api_result change_executable(api_executable executable, api_node node, const struct sim_work *work)
{
    struct sim_node *copy =
        executable && node ? sim_graph_copy_of(executable_of(executable), node_of(node)) : NULL;

    return api_error(copy ? sim_node_change(copy, work) : -EINVAL);
}

api_result API(GraphNodeGetType)(api_node node, api_node_type *type)
{
    if (!node || !type)
        return api_code(API_INVALID_VALUE);
    *type = (api_node_type)node_of(node)->work.type;
    return api_code(API_SUCCESS);
}

api_result API(GraphDestroyNode)(api_node node)
{
    if (!node || node_of(node)->work.type == SIM_NODE_ALLOCATE ||
        node_of(node)->work.type == SIM_NODE_FREE)
        return api_code(API_INVALID_VALUE);
    sim_node_remove(node_of(node));
    return api_code(API_SUCCESS);
}

/* --- kernels ----------------------------------------------------------------------------- */

#ifdef SIM_DRIVER
#define WORK_OF_KERNEL(k)                                                                          \
    {                                                                                              \
        .type = SIM_NODE_KERNEL, .kernel = {                                                       \
            (k)->func ? (void *)(k)->func : (void *)(k)->kern,                                     \
            {(k)->gridDimX, (k)->gridDimY, (k)->gridDimZ},                                         \
            {(k)->blockDimX, (k)->blockDimY, (k)->blockDimZ},                                      \
            (k)->sharedMemBytes,                                                                   \
            (k)->kernelParams,                                                                     \
            (k)->extra                                                                             \
        }                                                                                          \
    }
#else
#define WORK_OF_KERNEL(k)                                                                          \
    {                                                                                              \
        .type = SIM_NODE_KERNEL, .kernel = {                                                       \
            (void *)(k)->func,                                                                     \
            {(k)->gridDim.x, (k)->gridDim.y, (k)->gridDim.z},                                      \
            {(k)->blockDim.x, (k)->blockDim.y, (k)->blockDim.z},                                   \
            (k)->sharedMemBytes,                                                                   \
            (k)->kernelParams,                                                                     \
            (k)->extra                                                                             \
        }                                                                                          \
    }
#endif

api_result API(GraphAddKernelNode)(api_node *out, api_graph graph, const api_node *before,
                                   size_t count, const api_kernel *kernel)
{
    struct sim_work work = WORK_OF_KERNEL(kernel);

    return add_node(out, graph, before, count, &work);
}

api_result API(GraphKernelNodeSetParams)(api_node node, const api_kernel *kernel)
{
    struct sim_work work = WORK_OF_KERNEL(kernel);

    return change_node(node, &work);
}

api_result API(GraphExecKernelNodeSetParams)(api_executable executable, api_node node,
                                             const api_kernel *kernel)
{
    struct sim_work work = WORK_OF_KERNEL(kernel);

    return change_executable(executable, node, &work);
}

api_result API(GraphKernelNodeGetParams)(api_node node, api_kernel *kernel)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_KERNEL);
    const struct sim_kernel *known;

    if (!work || !kernel)
        return api_code(API_INVALID_VALUE);
    known = &work->kernel;
    memset(kernel, 0, sizeof(*kernel));
    kernel->func = (__typeof__(kernel->func))known->function;
#ifdef SIM_DRIVER
    kernel->gridDimX = known->grid[0];
    kernel->gridDimY = known->grid[1];
    kernel->gridDimZ = known->grid[2];
    kernel->blockDimX = known->block[0];
    kernel->blockDimY = known->block[1];
    kernel->blockDimZ = known->block[2];
#else
    kernel->gridDim = (dim3){known->grid[0], known->grid[1], known->grid[2]};
    kernel->blockDim = (dim3){known->block[0], known->block[1], known->block[2]};
#endif
    kernel->sharedMemBytes = known->shared;
    kernel->kernelParams = known->parameters;
    kernel->extra = known->extra;
    return api_code(API_SUCCESS);
}

/* --- copies ------------------------------------------------------------------------------ */

api_result API(GraphAddMemcpyNode)(api_node *out, api_graph graph, const api_node *before,
                                   size_t count, const api_copy *copy CONTEXT(context))
{
    struct sim_work work;
    int error = work_of_copy(&work, copy);

#ifdef SIM_DRIVER
    (void)context;
#endif
    return error ? api_error(error) : add_node(out, graph, before, count, &work);
}

api_result API(GraphMemcpyNodeSetParams)(api_node node, const api_copy *copy)
{
    struct sim_work work;
    int error = work_of_copy(&work, copy);

    return error ? api_error(error) : change_node(node, &work);
}

api_result API(GraphExecMemcpyNodeSetParams)(api_executable executable, api_node node,
                                             const api_copy *copy CONTEXT(context))
{
    struct sim_work work;
    int error = work_of_copy(&work, copy);

#ifdef SIM_DRIVER
    (void)context;
#endif
    return error ? api_error(error) : change_executable(executable, node, &work);
}

api_result API(GraphMemcpyNodeGetParams)(api_node node, api_copy *copy)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_COPY);

    if (!work || !copy)
        return api_code(API_INVALID_VALUE);
    copy_of_work(copy, work);
    return api_code(API_SUCCESS);
}

/* --- fills ------------------------------------------------------------------------------- */

#define WORK_OF_FILL(f)                                                                            \
    {                                                                                              \
        .type = SIM_NODE_FILL, .fill = {                                                           \
            (void *)(uintptr_t)(f)->dst,                                                           \
            (f)->pitch,                                                                            \
            (f)->value,                                                                            \
            (f)->elementSize,                                                                      \
            (f)->width,                                                                            \
            (f)->height                                                                            \
        }                                                                                          \
    }

static bool is_fill(const struct sim_work *work)
{
    return work->fill.element == 1 || work->fill.element == 2 || work->fill.element == 4;
}

api_result API(GraphAddMemsetNode)(api_node *out, api_graph graph, const api_node *before,
                                   size_t count, const api_fill *fill CONTEXT(context))
{
    struct sim_work work = WORK_OF_FILL(fill);

#ifdef SIM_DRIVER
    (void)context;
#endif
    if (!is_fill(&work))
        return api_code(API_INVALID_VALUE);
    return add_node(out, graph, before, count, &work);
}

api_result API(GraphMemsetNodeSetParams)(api_node node, const api_fill *fill)
{
    struct sim_work work = WORK_OF_FILL(fill);

    return is_fill(&work) ? change_node(node, &work) : api_code(API_INVALID_VALUE);
}

api_result API(GraphExecMemsetNodeSetParams)(api_executable executable, api_node node,
                                             const api_fill *fill CONTEXT(context))
{
    struct sim_work work = WORK_OF_FILL(fill);

#ifdef SIM_DRIVER
    (void)context;
#endif
    if (!is_fill(&work))
        return api_code(API_INVALID_VALUE);
    return change_executable(executable, node, &work);
}

api_result API(GraphMemsetNodeGetParams)(api_node node, api_fill *fill)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_FILL);

    if (!work || !fill)
        return api_code(API_INVALID_VALUE);
    *fill = (api_fill){.dst = ADDRESS(work->fill.to),
                       .pitch = work->fill.pitch,
                       .value = work->fill.value,
                       .elementSize = work->fill.element,
                       .width = work->fill.width,
                       .height = work->fill.height};
    return api_code(API_SUCCESS);
}

/* --- calls of the host ------------------------------------------------------------------- */

#define WORK_OF_HOST(h)                                                                            \
    {                                                                                              \
        .type = SIM_NODE_HOST, .host = {(h)->fn, (h)->userData }                                   \
    }

api_result API(GraphAddHostNode)(api_node *out, api_graph graph, const api_node *before,
                                 size_t count, const api_host_call *call)
{
    struct sim_work work = WORK_OF_HOST(call);

    return add_node(out, graph, before, count, &work);
}

api_result API(GraphHostNodeSetParams)(api_node node, const api_host_call *call)
{
    struct sim_work work = WORK_OF_HOST(call);

    return change_node(node, &work);
}

api_result API(GraphExecHostNodeSetParams)(api_executable executable, api_node node,
                                           const api_host_call *call)
{
    struct sim_work work = WORK_OF_HOST(call);

    return change_executable(executable, node, &work);
}

api_result API(GraphHostNodeGetParams)(api_node node, api_host_call *call)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_HOST);

    if (!work || !call)
        return api_code(API_INVALID_VALUE);
    *call = (api_host_call){.fn = work->host.function, .userData = work->host.data};
    return api_code(API_SUCCESS);
}

/* --- graphs in graphs, and nothing -------------------------------------------------------- */

api_result API(GraphAddChildGraphNode)(api_node *out, api_graph graph, const api_node *before,
                                       size_t count, api_graph child)
{
    struct sim_work work = {.type = SIM_NODE_GRAPH, .graph = graph_of(child)};

    if (!child)
        return api_code(API_INVALID_VALUE);
    return add_node(out, graph, before, count, &work);
}

api_result API(GraphChildGraphNodeGetGraph)(api_node node, api_graph *child)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_GRAPH);

    if (!work || !child)
        return api_code(API_INVALID_VALUE);
    *child = (api_graph)work->graph;
    return api_code(API_SUCCESS);
}

api_result API(GraphExecChildGraphNodeSetParams)(api_executable executable, api_node node,
                                                 api_graph child)
{
    struct sim_work work = {.type = SIM_NODE_GRAPH, .graph = graph_of(child)};

    if (!child)
        return api_code(API_INVALID_VALUE);
    return change_executable(executable, node, &work);
}

api_result API(GraphAddEmptyNode)(api_node *out, api_graph graph, const api_node *before,
                                  size_t count)
{
    struct sim_work work = {.type = SIM_NODE_EMPTY};

    return add_node(out, graph, before, count, &work);
}

/* --- events ------------------------------------------------------------------------------ */

static struct sim_work work_of_event(enum sim_node_type type, api_event event)
{
    return (struct sim_work){.type = type, .event = (struct sim_event *)event};
}

static api_result get_event(api_node node, enum sim_node_type type, api_event *event)
{
    const struct sim_work *work = work_of_node(node, type);

    if (!work || !event)
        return api_code(API_INVALID_VALUE);
    *event = (api_event)work->event;
    return api_code(API_SUCCESS);
}

#define EVENT_NODES(Name, kind)                                                                    \
    api_result API(GraphAddEvent##Name##Node)(                                                     \
        api_node * out, api_graph graph, const api_node *before, size_t count, api_event event)    \
    {                                                                                              \
        struct sim_work work = work_of_event(kind, event);                                         \
                                                                                                   \
        return event ? add_node(out, graph, before, count, &work) : api_code(API_INVALID_VALUE);   \
    }                                                                                              \
                                                                                                   \
    api_result API(GraphEvent##Name##NodeGetEvent)(api_node node, api_event * event)               \
    {                                                                                              \
        return get_event(node, kind, event);                                                       \
    }                                                                                              \
                                                                                                   \
    api_result API(GraphEvent##Name##NodeSetEvent)(api_node node, api_event event)                 \
    {                                                                                              \
        struct sim_work work = work_of_event(kind, event);                                         \
                                                                                                   \
        return event ? change_node(node, &work) : api_code(API_INVALID_VALUE);                     \
    }                                                                                              \
                                                                                                   \
    api_result API(GraphExecEvent##Name##NodeSetEvent)(api_executable executable, api_node node,   \
                                                       api_event event)                            \
    {                                                                                              \
        struct sim_work work = work_of_event(kind, event);                                         \
                                                                                                   \
        return event ? change_executable(executable, node, &work) : api_code(API_INVALID_VALUE);   \
    }

EVENT_NODES(Record, SIM_NODE_RECORD)
EVENT_NODES(Wait, SIM_NODE_WAIT)

/* --- any of them, by one structure -------------------------------------------------------- */

/* Convert parameters to work. The caller holds its memory, if it has any. */
static int work_of_parameters(struct sim_work *work, const api_node_parameters *parameters)
{
    static _Atomic int told;

    *work = (struct sim_work){.type = (enum sim_node_type)parameters->type};
    switch (work->type) {
    case SIM_NODE_KERNEL:
        *work = (struct sim_work)WORK_OF_KERNEL(&parameters->kernel);
        return 0;
    case SIM_NODE_COPY:
        return work_of_copy(work, &parameters->memcpy.copyParams);
    case SIM_NODE_FILL:
        *work = (struct sim_work)WORK_OF_FILL(&parameters->memset);
        return is_fill(work) ? 0 : -EINVAL;
    case SIM_NODE_HOST:
        *work = (struct sim_work)WORK_OF_HOST(&parameters->host);
        return 0;
    case SIM_NODE_GRAPH:
        work->graph = graph_of(parameters->graph.graph);
        return work->graph ? 0 : -EINVAL;
    case SIM_NODE_EMPTY:
        return 0;
    case SIM_NODE_WAIT:
    case SIM_NODE_RECORD:
        work->event =
            (struct sim_event *)(work->type == SIM_NODE_WAIT ? parameters->eventWait.event
                                                             : parameters->eventRecord.event);
        return work->event ? 0 : -EINVAL;
    case SIM_NODE_ALLOCATE:
        return new_node_memory(&parameters->alloc.poolProps, parameters->alloc.bytesize,
                               &work->memory);
    case SIM_NODE_FREE:
        work->memory = sim_graph_memory_at((void *)(uintptr_t)parameters->free.dptr);
        return work->memory ? 0 : -EINVAL;
    default:
        sim_note_refusal("a graph's node of that type", &told);
        return -ENOTSUP;
    }
}

static void let_go(const struct sim_work *work)
{
    if (work->type == SIM_NODE_ALLOCATE || work->type == SIM_NODE_FREE)
        sim_graph_memory_release(work->memory);
}

api_result API(GraphAddNode)(api_node *out, api_graph graph, const api_node *before,
                             const api_edge *edges, size_t count, api_node_parameters *parameters)
{
    struct sim_work work;
    api_result result;
    int error = parameters ? work_of_parameters(&work, parameters) : -EINVAL;

    (void)edges;
    if (error)
        return api_error(error);
    result = add_node(out, graph, before, count, &work);
    if (!result && work.type == SIM_NODE_ALLOCATE)
        parameters->alloc.dptr = ADDRESS(work.memory->address);
    let_go(&work);
    return result;
}

api_result API(GraphNodeSetParams)(api_node node, api_node_parameters *parameters)
{
    struct sim_work work;
    api_result result;
    int error = parameters ? work_of_parameters(&work, parameters) : -EINVAL;

    if (error)
        return api_error(error);
    result = change_node(node, &work);
    let_go(&work);
    return result;
}

api_result API(GraphExecNodeSetParams)(api_executable executable, api_node node,
                                       api_node_parameters *parameters)
{
    struct sim_work work;
    api_result result;
    int error = parameters ? work_of_parameters(&work, parameters) : -EINVAL;

    if (error)
        return api_error(error);
    result = change_executable(executable, node, &work);
    let_go(&work);
    return result;
}
