/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of graphs that allocate and free memory. */
#include <errno.h>
#include <string.h>

#include "graph.h"

int new_node_memory(const CUmemPoolProps *properties, size_t size, struct sim_graph_memory **memory)
{
    if ((int)properties->location.type != 1) /* on a device */
        return -EINVAL;
    return sim_graph_memory_create(properties->location.id, size, memory);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *allocation)
{
    struct sim_work work = {.type = SIM_NODE_ALLOCATE};
    CUresult result;
    if (!allocation)
        return CUDA_ERROR_INVALID_VALUE;
    int error = new_node_memory(&allocation->poolProps, allocation->bytesize, &work.memory);
    if (error)
        return driver_result(error);
    result = add_node(out, graph, before, count, &work);
    if (!result)
        allocation->dptr = ADDRESS(work.memory->address);
    sim_graph_memory_release(work.memory);
    return result;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *allocation)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_ALLOCATE);
    if (!work || !allocation)
        return CUDA_ERROR_INVALID_VALUE;
    memset(allocation, 0, sizeof(*allocation));
    allocation->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    allocation->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    allocation->poolProps.location.id = work->memory->device;
    allocation->bytesize = work->memory->size;
    allocation->dptr = ADDRESS(work->memory->address);
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                               size_t count, CUdeviceptr address)
{
    struct sim_work work = {.type = SIM_NODE_FREE,
                            .memory = sim_graph_memory_at((void *)(uintptr_t)address)};
    CUresult result;
    if (!work.memory)
        return CUDA_ERROR_INVALID_VALUE;
    result = add_node(out, graph, before, count, &work);
    sim_graph_memory_release(work.memory);
    return result;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *out)
{
    const struct sim_work *work = work_of_node(node, SIM_NODE_FREE);
    if (!work || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *(void **)(void *)out = work->memory->address;
    return CUDA_SUCCESS;
}
