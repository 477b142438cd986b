/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of graphs that allocate and free memory. */
#include <errno.h>
#include <string.h>

#include "graph.h"

int new_node_memory(const api_pool_properties *properties, size_t size,
                    struct sim_graph_memory **memory)
{
    if ((int)properties->location.type != 1) /* on a device */
        return -EINVAL;
    return sim_graph_memory_create(properties->location.id, size, memory);
}

api_result API(GraphAddMemAllocNode)(api_node *out, api_graph graph, const api_node *before,
                                     size_t count, api_allocation *allocation)
{
    struct sim_work work = {.type = SIM_NODE_ALLOCATE};
    api_result result;
    int error;

    if (!allocation)
        return api_code(API_INVALID_VALUE);
    error = new_node_memory(&allocation->poolProps, allocation->bytesize, &work.memory);
    if (error)
        return api_error(error);
    result = add_node(out, graph, before, count, &work);
    if (!result)
        allocation->dptr = ADDRESS(work.memory->address);
    sim_graph_memory_release(work.memory);
    return result;
}

api_result API(GraphMemAllocNodeGetParams)(api_node node, api_allocation *allocation)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_ALLOCATE);

    if (!work || !allocation)
        return api_code(API_INVALID_VALUE);
    memset(allocation, 0, sizeof(*allocation));
    allocation->poolProps.allocType = (__typeof__(allocation->poolProps.allocType))1;
    allocation->poolProps.location.type = (__typeof__(allocation->poolProps.location.type))1;
    allocation->poolProps.location.id = work->memory->device;
    allocation->bytesize = work->memory->size;
    allocation->dptr = ADDRESS(work->memory->address);
    return api_code(API_SUCCESS);
}

api_result API(GraphAddMemFreeNode)(api_node *out, api_graph graph, const api_node *before,
                                    size_t count, api_pointer address)
{
    struct sim_work work = {.type = SIM_NODE_FREE,
                            .memory = sim_graph_memory_at((void *)(uintptr_t)address)};
    api_result result;

    if (!work.memory)
        return api_code(API_INVALID_VALUE);
    result = add_node(out, graph, before, count, &work);
    sim_graph_memory_release(work.memory);
    return result;
}

#ifdef SIM_DRIVER
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out)
#else
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *out)
#endif
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_FREE);

    if (!work || !out)
        return api_code(API_INVALID_VALUE);
    *(void **)(void *)out = work->memory->address;
    return api_code(API_SUCCESS);
}
