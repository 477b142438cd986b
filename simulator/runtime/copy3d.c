/* SPDX-License-Identifier: Apache-2.0 */
/* Copies from and to arrays, and in three dimensions; and their nodes in graphs. */
#include <errno.h>
#include <string.h>

#include "api/graph.h"
#include "copy.h"

static struct sim_array *array_of(cudaArray_const_t handle)
{
    return (struct sim_array *)(uintptr_t)handle;
}

/* Positions are in elements where an array is part of the copy, else in bytes. */
static struct sim_side side_of(cudaArray_t array, const struct cudaPos *at,
                               const struct cudaPitchedPtr *memory, unsigned element)
{
    return (struct sim_side){.array = array_of(array),
                             .address = memory->ptr,
                             .pitch = memory->pitch,
                             .height = memory->ysize,
                             .width = memory->xsize,
                             .x = at->x * (array ? array_of(array)->element : element),
                             .y = at->y,
                             .z = at->z};
}

/* Return the unit of the extent: an array's element, or a byte. */
static unsigned unit_of(cudaArray_t to, cudaArray_t from)
{
    return to ? array_of(to)->element : from ? array_of(from)->element : 1;
}

static struct sim_copy3d copy_of(const struct cudaMemcpy3DParms *parameters)
{
    unsigned unit = unit_of(parameters->dstArray, parameters->srcArray);

    return (struct sim_copy3d){
        .to = side_of(parameters->dstArray, &parameters->dstPos, &parameters->dstPtr, 1),
        .from = side_of(parameters->srcArray, &parameters->srcPos, &parameters->srcPtr, 1),
        .width = parameters->extent.width * unit,
        .height = parameters->extent.height,
        .depth = parameters->extent.depth};
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters)
{
    struct sim_copy3d copy = copy_of(parameters);

    return runtime_copy_now(&copy, parameters->kind);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream)
{
    struct sim_copy3d copy = copy_of(parameters);

    return runtime_copy(&copy, parameters->kind, stream);
}

static struct sim_copy3d copy_of_peers(const struct cudaMemcpy3DPeerParms *parameters)
{
    struct cudaMemcpy3DParms plain = {.srcArray = parameters->srcArray,
                                      .srcPos = parameters->srcPos,
                                      .srcPtr = parameters->srcPtr,
                                      .dstArray = parameters->dstArray,
                                      .dstPos = parameters->dstPos,
                                      .dstPtr = parameters->dstPtr,
                                      .extent = parameters->extent};

    return copy_of(&plain);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *parameters)
{
    struct sim_copy3d copy = copy_of_peers(parameters);

    return runtime_copy_now(&copy, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *parameters,
                                  cudaStream_t stream)
{
    struct sim_copy3d copy = copy_of_peers(parameters);

    return runtime_copy(&copy, cudaMemcpyDeviceToDevice, stream);
}

/* --- two dimensions: offsets are bytes and rows ------------------------------------------- */

static struct sim_side array_side(cudaArray_const_t array, size_t x, size_t y)
{
    return (struct sim_side){.array = array_of(array), .x = x, .y = y};
}

static struct sim_side memory_side(const void *address, size_t pitch)
{
    return (struct sim_side){.address = (void *)(uintptr_t)address, .pitch = pitch};
}

static struct sim_copy3d rows(struct sim_side to, struct sim_side from, size_t width, size_t height)
{
    return (struct sim_copy3d){
        .to = to, .from = from, .width = width, .height = height, .depth = 1};
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                size_t width, size_t height, enum cudaMemcpyKind kind)
{
    struct sim_copy3d copy = rows(array_side(to, x, y), memory_side(from, pitch), width, height);

    return runtime_copy_now(&copy, kind);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
                                     size_t pitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct sim_copy3d copy = rows(array_side(to, x, y), memory_side(from, pitch), width, height);

    return runtime_copy(&copy, kind, stream);
}

cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, enum cudaMemcpyKind kind)
{
    struct sim_copy3d copy = rows(memory_side(to, pitch), array_side(from, x, y), width, height);

    return runtime_copy_now(&copy, kind);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height,
                                       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct sim_copy3d copy = rows(memory_side(to, pitch), array_side(from, x, y), width, height);

    return runtime_copy(&copy, kind, stream);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                     cudaArray_const_t from, size_t from_x, size_t from_y,
                                     size_t width, size_t height, enum cudaMemcpyKind kind)
{
    struct sim_copy3d copy =
        rows(array_side(to, to_x, to_y), array_side(from, from_x, from_y), width, height);

    return runtime_copy_now(&copy, kind);
}

/* --- graphs ------------------------------------------------------------------------------ */

static int set_direction(struct sim_work *work, enum cudaMemcpyKind kind)
{
    static const enum sim_direction directions[] = {SIM_HOST_TO_HOST, SIM_HOST_TO_DEVICE,
                                                    SIM_DEVICE_TO_HOST, SIM_DEVICE_TO_DEVICE,
                                                    SIM_BY_ADDRESS};

    if ((unsigned)kind >= sizeof(directions) / sizeof(directions[0]))
        return -EINVAL;
    work->copy.direction = directions[kind];
    return 0;
}

int work_of_copy(struct sim_work *work, const struct cudaMemcpy3DParms *parameters)
{
    *work = (struct sim_work){.type = SIM_NODE_COPY};
    if (!parameters)
        return -EINVAL;
    work->copy = copy_of(parameters);
    return set_direction(work, parameters->kind);
}

static void tell_side(const struct sim_side *side, cudaArray_t *array, struct cudaPos *at,
                      struct cudaPitchedPtr *memory)
{
    *array = (cudaArray_t)side->array;
    *at = (struct cudaPos){side->x / (side->array ? side->array->element : 1), side->y, side->z};
    *memory = (struct cudaPitchedPtr){side->address, side->pitch, side->width, side->height};
}

void copy_of_work(struct cudaMemcpy3DParms *parameters, const struct sim_work *work)
{
    const struct sim_copy3d *copy = &work->copy;
    unsigned unit;

    tell_side(&copy->to, &parameters->dstArray, &parameters->dstPos, &parameters->dstPtr);
    tell_side(&copy->from, &parameters->srcArray, &parameters->srcPos, &parameters->srcPtr);
    unit = unit_of(parameters->dstArray, parameters->srcArray);
    parameters->extent = (struct cudaExtent){copy->width / unit, copy->height, copy->depth};
    parameters->kind = (enum cudaMemcpyKind)copy->direction; /* the same numbers */
}

static int work_of_bytes(struct sim_work *work, void *to, const void *from, size_t size,
                         enum cudaMemcpyKind kind)
{
    *work = (struct sim_work){.type = SIM_NODE_COPY};
    work->copy = sim_copy_rows(to, size, from, size, size, 1, SIM_BY_ADDRESS);
    return set_direction(work, kind);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t graph,
                                     const cudaGraphNode_t *before, size_t count, void *to,
                                     const void *from, size_t size, enum cudaMemcpyKind kind)
{
    struct sim_work work;
    int error = work_of_bytes(&work, to, from, size, kind);

    return error ? runtime_error(error) : add_node(out, graph, before, count, &work);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
                                           size_t size, enum cudaMemcpyKind kind)
{
    struct sim_work work;
    int error = work_of_bytes(&work, to, from, size, kind);

    return error ? runtime_error(error) : change_node(node, &work);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void *to, const void *from, size_t size,
                                               enum cudaMemcpyKind kind)
{
    struct sim_work work;
    int error = work_of_bytes(&work, to, from, size, kind);

    return error ? runtime_error(error) : change_executable(executable, node, &work);
}
