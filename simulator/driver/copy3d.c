/* SPDX-License-Identifier: Apache-2.0 */
/* Copies from and to arrays, and in two and three dimensions; and their nodes in graphs. */
#include <errno.h>
#include <string.h>

#include "copy.h"
#include "graph.h"

static bool is_on_device(CUmemorytype type)
{
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY;
}

static enum sim_direction direction_of(CUmemorytype to, CUmemorytype from)
{
    if (to == CU_MEMORYTYPE_UNIFIED || from == CU_MEMORYTYPE_UNIFIED)
        return SIM_BY_ADDRESS;
    if (is_on_device(from))
        return is_on_device(to) ? SIM_DEVICE_TO_DEVICE : SIM_DEVICE_TO_HOST;
    return is_on_device(to) ? SIM_HOST_TO_DEVICE : SIM_HOST_TO_HOST;
}

/* One side of any of the structures, whose fields have the same names. */
#define SIDE(p, side, z_, height_)                                                                 \
    {.array = (p)->side##MemoryType == CU_MEMORYTYPE_ARRAY ? (struct sim_array *)(p)->side##Array  \
                                                           : NULL,                                 \
     .address = (p)->side##MemoryType == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)(p)->side##Host   \
                                                            : driver_pointer((p)->side##Device),   \
     .pitch = (p)->side##Pitch ? (p)->side##Pitch : (p)->WidthInBytes,                             \
     .height = (height_),                                                                          \
     .x = (p)->side##XInBytes,                                                                     \
     .y = (p)->side##Y,                                                                            \
     .z = (z_),                                                                                    \
     .kind = (int)(p)->side##MemoryType}

#define COPY(p, to_z, from_z, to_height, from_height, depth_)                                      \
    {.to = SIDE(p, dst, to_z, to_height),                                                          \
     .from = SIDE(p, src, from_z, from_height),                                                    \
     .width = (p)->WidthInBytes,                                                                   \
     .height = (p)->Height,                                                                        \
     .depth = (depth_),                                                                            \
     .direction = direction_of((p)->dstMemoryType, (p)->srcMemoryType)}

#define COPY_2D(p) COPY(p, 0, 0, (p)->Height, (p)->Height, 1)
#define COPY_3D(p) COPY(p, (p)->dstZ, (p)->srcZ, (p)->dstHeight, (p)->srcHeight, (p)->Depth)

/* A copy at once and one on a stream. */
#define COPIES(name, type, form)                                                                   \
    CUresult name(const type *parameters)                                                          \
    {                                                                                              \
        struct sim_copy3d copy = form(parameters);                                                 \
                                                                                                   \
        return driver_copy_now(&copy);                                                             \
    }                                                                                              \
                                                                                                   \
    CUresult name##Async(const type *parameters, CUstream stream)                                  \
    {                                                                                              \
        struct sim_copy3d copy = form(parameters);                                                 \
                                                                                                   \
        return driver_copy(&copy, stream);                                                         \
    }
COPIES(cuMemcpy2D, CUDA_MEMCPY2D, COPY_2D)
COPIES(cuMemcpy3D, CUDA_MEMCPY3D, COPY_3D)
COPIES(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, COPY_3D)

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *parameters)
{
    return cuMemcpy2D(parameters);
}

/* --- rows of one-dimensional arrays ------------------------------------------------------- */

static struct sim_side array_side(CUarray array, size_t offset)
{
    return (struct sim_side){.array = (struct sim_array *)array, .x = offset};
}

static struct sim_side memory_side(const void *address, size_t size)
{
    return (struct sim_side){.address = (void *)(uintptr_t)address, .pitch = size};
}

static CUresult copy_row(struct sim_side to, struct sim_side from, size_t size)
{
    struct sim_copy3d copy = {.to = to,
                              .from = from,
                              .width = size,
                              .height = 1,
                              .depth = 1,
                              .direction = SIM_BY_ADDRESS};

    return driver_copy_now(&copy);
}

CUresult cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t size)
{
    return copy_row(array_side(to, offset), memory_side(driver_pointer(from), size), size);
}

CUresult cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t size)
{
    return copy_row(memory_side(driver_pointer(to), size), array_side(from, offset), size);
}

CUresult cuMemcpyHtoA(CUarray to, size_t offset, const void *from, size_t size)
{
    return copy_row(array_side(to, offset), memory_side(from, size), size);
}

CUresult cuMemcpyAtoH(void *to, CUarray from, size_t offset, size_t size)
{
    return copy_row(memory_side(to, size), array_side(from, offset), size);
}

CUresult cuMemcpyAtoA(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t size)
{
    return copy_row(array_side(to, to_offset), array_side(from, from_offset), size);
}

/* --- graphs ------------------------------------------------------------------------------ */

int work_of_copy(struct sim_work *work, const CUDA_MEMCPY3D *parameters)
{
    *work = (struct sim_work){.type = SIM_NODE_COPY};
    if (!parameters)
        return -EINVAL;
    work->copy = (struct sim_copy3d)COPY_3D(parameters);
    return 0;
}

static CUmemorytype type_of(const struct sim_side *side)
{
    return side->array ? CU_MEMORYTYPE_ARRAY
                       : (CUmemorytype)(side->kind ? side->kind : CU_MEMORYTYPE_UNIFIED);
}

#define TELL_SIDE(p, side, known)                                                                  \
    do {                                                                                           \
        (p)->side##MemoryType = type_of(known);                                                    \
        (p)->side##Host = (p)->side##MemoryType == CU_MEMORYTYPE_HOST ? (known)->address : NULL;   \
        (p)->side##Device = (CUdeviceptr)(uintptr_t)((p)->side##Host ? NULL : (known)->address);   \
        (p)->side##Array = (CUarray)(known)->array;                                                \
        (p)->side##Pitch = (known)->pitch;                                                         \
        (p)->side##Height = (known)->height;                                                       \
        (p)->side##XInBytes = (known)->x;                                                          \
        (p)->side##Y = (known)->y;                                                                 \
        (p)->side##Z = (known)->z;                                                                 \
    } while (0)

void copy_of_work(CUDA_MEMCPY3D *parameters, const struct sim_work *work)
{
    const struct sim_copy3d *copy = &work->copy;

    memset(parameters, 0, sizeof(*parameters));
    TELL_SIDE(parameters, dst, &copy->to);
    TELL_SIDE(parameters, src, &copy->from);
    parameters->WidthInBytes = copy->width;
    parameters->Height = copy->height;
    parameters->Depth = copy->depth;
}
