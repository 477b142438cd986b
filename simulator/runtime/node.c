/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of graphs whose parameters differ from the driver's: kernels' answers, and copies. */
#include <string.h>

#include "copy.h"

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *kernel)
{
    CUDA_KERNEL_NODE_PARAMS known;
    cudaError_t error = kernel ? DRIVER(cuGraphKernelNodeGetParams, node, &known)
                               : runtime_result(cudaErrorInvalidValue);
    if (!error)
        *kernel = (struct cudaKernelNodeParams){
            .func = (void *)known.func,
            .gridDim = {known.gridDimX, known.gridDimY, known.gridDimZ},
            .blockDim = {known.blockDimX, known.blockDimY, known.blockDimZ},
            .sharedMemBytes = known.sharedMemBytes,
            .kernelParams = known.kernelParams,
            .extra = known.extra};
    return error;
}

/* Call the driver with the form of the copy, where there is a copy that has one. */
#define WITH_FORM(copy, call)                                                                      \
    ({                                                                                             \
        CUDA_MEMCPY3D form;                                                                        \
        (copy) && runtime_copy_form(&form, copy) ? (call) : runtime_result(cudaErrorInvalidValue); \
    })

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *out, cudaGraph_t graph,
                                   const cudaGraphNode_t *before, size_t count,
                                   const struct cudaMemcpy3DParms *copy)
{
    return WITH_FORM(copy, DRIVER(cuGraphAddMemcpyNode, out, graph, before, count, &form,
                                  (CUcontext)sim_thread.context));
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *copy)
{
    return WITH_FORM(copy, DRIVER(cuGraphMemcpyNodeSetParams, node, &form));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaMemcpy3DParms *copy)
{
    return WITH_FORM(copy, DRIVER(cuGraphExecMemcpyNodeSetParams, executable, node, &form,
                                  (CUcontext)sim_thread.context));
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *copy)
{
    CUDA_MEMCPY3D form;
    cudaError_t error = copy ? DRIVER(cuGraphMemcpyNodeGetParams, node, &form)
                             : runtime_result(cudaErrorInvalidValue);
    if (!error)
        runtime_copy_of_form(copy, &form);
    return error;
}

static struct cudaMemcpy3DParms bytes(void *to, const void *from, size_t size,
                                      enum cudaMemcpyKind kind)
{
    return (struct cudaMemcpy3DParms){.dstPtr = {to, size, size, 1},
                                      .srcPtr = {(void *)(uintptr_t)from, size, size, 1},
                                      .extent = {size, 1, 1},
                                      .kind = kind};
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t graph,
                                     const cudaGraphNode_t *before, size_t count, void *to,
                                     const void *from, size_t size, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms copy = bytes(to, from, size, kind);
    return cudaGraphAddMemcpyNode(out, graph, before, count, &copy);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
                                           size_t size, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms copy = bytes(to, from, size, kind);
    return cudaGraphMemcpyNodeSetParams(node, &copy);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void *to, const void *from, size_t size,
                                               enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms copy = bytes(to, from, size, kind);
    return cudaGraphExecMemcpyNodeSetParams(executable, node, &copy);
}

/* --- any of them, by one structure: only copies differ in it -------------------------------- */

#define SAME(field)                                                                                \
    _Static_assert(                                                                                \
        offsetof(struct cudaGraphNodeParams, field) == offsetof(CUgraphNodeParams, field), #field)
SAME(kernel.extra);
SAME(memset.height);
SAME(host.userData);
SAME(eventWait.event);
SAME(alloc.dptr);
SAME(free.dptr);

/* Return the driver's form of the parameters: themselves, or *form. NULL: they are invalid. */
static CUgraphNodeParams *form_of(struct cudaGraphNodeParams *parameters, CUgraphNodeParams *form)
{
    if (!parameters || parameters->type != cudaGraphNodeTypeMemcpy)
        return (CUgraphNodeParams *)(void *)parameters;
    memset(form, 0, sizeof(*form));
    form->type = CU_GRAPH_NODE_TYPE_MEMCPY;
    return runtime_copy_form(&form->memcpy.copyParams, &parameters->memcpy.copyParams) ? form
                                                                                       : NULL;
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                             const cudaGraphEdgeData *edges, size_t count,
                             struct cudaGraphNodeParams *parameters)
{
    CUgraphNodeParams form;
    return DRIVER(cuGraphAddNode, out, graph, before, (const CUgraphEdgeData *)edges, count,
                  form_of(parameters, &form));
}

#if SIM_CUDA < 13
/* Add a node by the form before edges had data; the header gives its name to the newer one. */
cudaError_t add_node_12(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                        size_t count,
                        struct cudaGraphNodeParams *parameters) __asm__("cudaGraphAddNode");

cudaError_t add_node_12(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *before,
                        size_t count, struct cudaGraphNodeParams *parameters)
{
    return cudaGraphAddNode(out, graph, before, NULL, count, parameters);
}
#endif

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *parameters)
{
    CUgraphNodeParams form;
    return DRIVER(cuGraphNodeSetParams, node, form_of(parameters, &form));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                       struct cudaGraphNodeParams *parameters)
{
    CUgraphNodeParams form;
    return DRIVER(cuGraphExecNodeSetParams, executable, node, form_of(parameters, &form));
}
