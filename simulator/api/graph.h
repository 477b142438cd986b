/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs behind their handles, which are the same types in the runtime and the driver. */
#ifndef SIM_API_GRAPH_H
#define SIM_API_GRAPH_H

#include "api.h"
#include "core/streams/graph.h"

static inline struct sim_graph *graph_of(api_graph handle)
{
    return (struct sim_graph *)handle;
}

static inline struct sim_graph *executable_of(api_executable handle)
{
    return (struct sim_graph *)handle;
}

static inline struct sim_node *node_of(api_node handle)
{
    return (struct sim_node *)handle;
}

static inline struct sim_node *const *nodes_of(const api_node *handles)
{
    return (struct sim_node *const *)handles;
}

/* Convert the API's parameters to work, and back. Return 0 or a negative errno. */
#ifdef SIM_DRIVER
typedef CUDA_KERNEL_NODE_PARAMS api_kernel;
typedef CUDA_MEMCPY3D api_copy;
typedef CUgraphNodeParams api_node_parameters;
#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))
#else
typedef struct cudaKernelNodeParams api_kernel;
typedef struct cudaMemcpy3DParms api_copy;
typedef struct cudaGraphNodeParams api_node_parameters;
#define ADDRESS(pointer) (pointer)
#endif
int work_of_copy(struct sim_work *work, const api_copy *copy);
void copy_of_work(api_copy *copy, const struct sim_work *work);

/* Add work to a graph; change the work of a node, or of its copy in an executable graph. */
api_result add_node(api_node *out, api_graph graph, const api_node *before, size_t count,
                    const struct sim_work *work);
api_result change_node(api_node node, const struct sim_work *work);
api_result change_executable(api_executable executable, api_node node, const struct sim_work *work);
/* Return the work of a node, NULL if it has another type. */
const struct sim_work *work_of_node(api_node node, enum sim_node_type type);

/* Reserve memory that a node will allocate. The caller holds it. Return 0 or a negative errno. */
int new_node_memory(const api_pool_properties *properties, size_t size,
                    struct sim_graph_memory **memory);

#endif
