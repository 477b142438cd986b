/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs behind their handles, which are the same types in the runtime and the driver. */
#ifndef SIM_DRIVER_GRAPH_H
#define SIM_DRIVER_GRAPH_H

#include "core/streams/graph.h"
#include "driver.h"

static inline struct sim_graph *graph_of(CUgraph handle)
{
    return (struct sim_graph *)handle;
}

static inline struct sim_graph *executable_of(CUgraphExec handle)
{
    return (struct sim_graph *)handle;
}

static inline struct sim_node *node_of(CUgraphNode handle)
{
    return (struct sim_node *)handle;
}

static inline struct sim_node *const *nodes_of(const CUgraphNode *handles)
{
    return (struct sim_node *const *)handles;
}

/* Convert the API's parameters to work, and back. Return 0 or a negative errno. */
#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))
int work_of_copy(struct sim_work *work, const CUDA_MEMCPY3D *copy);
void copy_of_work(CUDA_MEMCPY3D *copy, const struct sim_work *work);

/* Add work to a graph; change the work of a node, or of its copy in an executable graph. */
CUresult add_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                  const struct sim_work *work);
CUresult change_node(CUgraphNode node, const struct sim_work *work);
CUresult change_executable(CUgraphExec executable, CUgraphNode node, const struct sim_work *work);
/* Return the work of a node, NULL if it has another type. */
const struct sim_work *work_of_node(CUgraphNode node, enum sim_node_type type);

/* Reserve memory that a node will allocate. The caller holds it. Return 0 or a negative errno. */
int new_node_memory(const CUmemPoolProps *properties, size_t size,
                    struct sim_graph_memory **memory);

#endif
