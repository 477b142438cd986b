/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of graphs: each kind with its parameters. */
#include <errno.h>
#include <string.h>

#include "graph.h"

CUresult change_node(CUgraphNode node, const struct sim_work *work)
{
    return driver_result(node ? sim_node_change(node_of(node), work) : -EINVAL);
}

CUresult change_executable(CUgraphExec executable, CUgraphNode node, const struct sim_work *work)
{
    struct sim_node *copy =
        executable && node ? sim_graph_copy_of(executable_of(executable), node_of(node)) : NULL;
    return driver_result(copy ? sim_node_change(copy, work) : -EINVAL);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    if (!node || !type)
        return CUDA_ERROR_INVALID_VALUE;
    *type = (CUgraphNodeType)node_of(node)->work.type;
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode node)
{
    if (!node || node_of(node)->work.type == SIM_NODE_ALLOCATE ||
        node_of(node)->work.type == SIM_NODE_FREE)
        return CUDA_ERROR_INVALID_VALUE;
    sim_node_remove(node_of(node));
    return CUDA_SUCCESS;
}

#define UNUSED __attribute__((unused))

/* How nodes of a kind are created, changed, and changed in an executable graph. set: sets the work
 * from the parameters; returns 0 or a negative errno. Then the additional parameters of two of the
 * three. */
#define NODES(Kind, type, set, ...)                                                                \
    CUresult cuGraphAdd##Kind##Node(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,    \
                                    size_t count, const type *parameters, ##__VA_ARGS__)           \
    {                                                                                              \
        struct sim_work work;                                                                      \
        int error = set(work, parameters);                                                         \
                                                                                                   \
        return error ? driver_result(error) : add_node(out, graph, before, count, &work);          \
    }                                                                                              \
                                                                                                   \
    CUresult cuGraph##Kind##NodeSetParams(CUgraphNode node, const type *parameters)                \
    {                                                                                              \
        struct sim_work work;                                                                      \
        int error = set(work, parameters);                                                         \
                                                                                                   \
        return error ? driver_result(error) : change_node(node, &work);                            \
    }                                                                                              \
                                                                                                   \
    CUresult cuGraphExec##Kind##NodeSetParams(CUgraphExec executable, CUgraphNode node,            \
                                              const type *parameters, ##__VA_ARGS__)               \
    {                                                                                              \
        struct sim_work work;                                                                      \
        int error = set(work, parameters);                                                         \
                                                                                                   \
        return error ? driver_result(error) : change_executable(executable, node, &work);          \
    }

/* --- kernels ----------------------------------------------------------------------------- */

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

#define KERNEL_WORK(work, k) ((work) = (struct sim_work)WORK_OF_KERNEL(k), 0)
NODES(Kernel, CUDA_KERNEL_NODE_PARAMS, KERNEL_WORK)

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *kernel)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_KERNEL);
    if (!work || !kernel)
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_kernel *known = &work->kernel;
    memset(kernel, 0, sizeof(*kernel));
    kernel->func = (CUfunction)known->function;
    kernel->gridDimX = known->grid[0];
    kernel->gridDimY = known->grid[1];
    kernel->gridDimZ = known->grid[2];
    kernel->blockDimX = known->block[0];
    kernel->blockDimY = known->block[1];
    kernel->blockDimZ = known->block[2];
    kernel->sharedMemBytes = known->shared;
    kernel->kernelParams = known->parameters;
    kernel->extra = known->extra;
    return CUDA_SUCCESS;
}

/* --- copies ------------------------------------------------------------------------------ */

#define COPY_WORK(work, c) work_of_copy(&(work), c)
NODES(Memcpy, CUDA_MEMCPY3D, COPY_WORK, CUcontext context UNUSED)

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *copy)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_COPY);
    if (!work || !copy)
        return CUDA_ERROR_INVALID_VALUE;
    copy_of_work(copy, work);
    return CUDA_SUCCESS;
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

#define FILL_WORK(work, f)                                                                         \
    ((work) = (struct sim_work)WORK_OF_FILL(f), is_fill(&(work)) ? 0 : -EINVAL)
NODES(Memset, CUDA_MEMSET_NODE_PARAMS, FILL_WORK, CUcontext context UNUSED)

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *fill)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_FILL);
    if (!work || !fill)
        return CUDA_ERROR_INVALID_VALUE;
    *fill = (CUDA_MEMSET_NODE_PARAMS){.dst = ADDRESS(work->fill.to),
                                      .pitch = work->fill.pitch,
                                      .value = work->fill.value,
                                      .elementSize = work->fill.element,
                                      .width = work->fill.width,
                                      .height = work->fill.height};
    return CUDA_SUCCESS;
}

/* --- calls of the host ------------------------------------------------------------------- */

#define WORK_OF_HOST(h)                                                                            \
    {                                                                                              \
        .type = SIM_NODE_HOST, .host = {(h)->fn, (h)->userData }                                   \
    }

#define HOST_WORK(work, h) ((work) = (struct sim_work)WORK_OF_HOST(h), 0)
NODES(Host, CUDA_HOST_NODE_PARAMS, HOST_WORK)

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *call)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_HOST);
    if (!work || !call)
        return CUDA_ERROR_INVALID_VALUE;
    *call = (CUDA_HOST_NODE_PARAMS){.fn = work->host.function, .userData = work->host.data};
    return CUDA_SUCCESS;
}

/* --- graphs in graphs, and nothing -------------------------------------------------------- */

CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                                  size_t count, CUgraph child)
{
    struct sim_work work = {.type = SIM_NODE_GRAPH, .graph = graph_of(child)};
    if (!child)
        return CUDA_ERROR_INVALID_VALUE;
    return add_node(out, graph, before, count, &work);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *child)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_GRAPH);
    if (!work || !child)
        return CUDA_ERROR_INVALID_VALUE;
    *child = (CUgraph)work->graph;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraph child)
{
    struct sim_work work = {.type = SIM_NODE_GRAPH, .graph = graph_of(child)};
    if (!child)
        return CUDA_ERROR_INVALID_VALUE;
    return change_executable(executable, node, &work);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                             size_t count)
{
    struct sim_work work = {.type = SIM_NODE_EMPTY};
    return add_node(out, graph, before, count, &work);
}

/* --- events ------------------------------------------------------------------------------ */

static struct sim_work work_of_event(enum sim_node_type type, CUevent event)
{
    return (struct sim_work){.type = type, .event = (struct sim_event *)event};
}

static CUresult get_event(CUgraphNode node, enum sim_node_type type, CUevent *event)
{
    const struct sim_work *work = work_of_node(node, type);
    if (!work || !event)
        return CUDA_ERROR_INVALID_VALUE;
    *event = (CUevent)work->event;
    return CUDA_SUCCESS;
}

#define EVENT_NODES(Name, kind)                                                                    \
    CUresult cuGraphAddEvent##Name##Node(CUgraphNode *out, CUgraph graph,                          \
                                         const CUgraphNode *before, size_t count, CUevent event)   \
    {                                                                                              \
        struct sim_work work = work_of_event(kind, event);                                         \
                                                                                                   \
        return event ? add_node(out, graph, before, count, &work) : CUDA_ERROR_INVALID_VALUE;      \
    }                                                                                              \
                                                                                                   \
    CUresult cuGraphEvent##Name##NodeGetEvent(CUgraphNode node, CUevent *event)                    \
    {                                                                                              \
        return get_event(node, kind, event);                                                       \
    }                                                                                              \
                                                                                                   \
    CUresult cuGraphEvent##Name##NodeSetEvent(CUgraphNode node, CUevent event)                     \
    {                                                                                              \
        struct sim_work work = work_of_event(kind, event);                                         \
                                                                                                   \
        return event ? change_node(node, &work) : CUDA_ERROR_INVALID_VALUE;                        \
    }                                                                                              \
                                                                                                   \
    CUresult cuGraphExecEvent##Name##NodeSetEvent(CUgraphExec executable, CUgraphNode node,        \
                                                  CUevent event)                                   \
    {                                                                                              \
        struct sim_work work = work_of_event(kind, event);                                         \
                                                                                                   \
        return event ? change_executable(executable, node, &work) : CUDA_ERROR_INVALID_VALUE;      \
    }

EVENT_NODES(Record, SIM_NODE_RECORD)
EVENT_NODES(Wait, SIM_NODE_WAIT)

/* --- nodes of any kind, by one structure -------------------------------------------------- */

/* Convert parameters to work. The caller holds its memory, if it has any. */
static int work_of_parameters(struct sim_work *work, const CUgraphNodeParams *parameters)
{
    static _Atomic bool is_noted;
    *work = (struct sim_work){.type = (enum sim_node_type)parameters->type};
    switch (work->type) {
    case SIM_NODE_KERNEL:
        return KERNEL_WORK(*work, &parameters->kernel);
    case SIM_NODE_COPY:
        return work_of_copy(work, &parameters->memcpy.copyParams);
    case SIM_NODE_FILL:
        return FILL_WORK(*work, &parameters->memset);
    case SIM_NODE_HOST:
        return HOST_WORK(*work, &parameters->host);
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
        sim_note_refusal("a graph's node of that type", &is_noted);
        return -ENOTSUP;
    }
}

static void let_go(const struct sim_work *work)
{
    if (work->type == SIM_NODE_ALLOCATE || work->type == SIM_NODE_FREE)
        sim_graph_memory_release(work->memory);
}

/* Do something with the work of any parameters, and release its memory. */
#define WITH_WORK(parameters, call)                                                                \
    ({                                                                                             \
        struct sim_work work;                                                                      \
        int error_ = (parameters) ? work_of_parameters(&work, parameters) : -EINVAL;               \
        CUresult result_ = error_ ? driver_result(error_) : (call);                                \
        if (!error_)                                                                               \
            let_go(&work);                                                                         \
        result_;                                                                                   \
    })

static CUresult add_any(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                        CUgraphNodeParams *parameters, const struct sim_work *work)
{
    CUresult result = add_node(out, graph, before, count, work);
    if (!result && work->type == SIM_NODE_ALLOCATE)
        parameters->alloc.dptr = ADDRESS(work->memory->address);
    return result;
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                        const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *parameters)
{
    (void)edges;
    return WITH_WORK(parameters, add_any(out, graph, before, count, parameters, &work));
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *parameters)
{
    return WITH_WORK(parameters, change_node(node, &work));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                  CUgraphNodeParams *parameters)
{
    return WITH_WORK(parameters, change_executable(executable, node, &work));
}
