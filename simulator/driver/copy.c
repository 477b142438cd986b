/* SPDX-License-Identifier: Apache-2.0 */
/* Copies from and to arrays, and in two and three dimensions; and their nodes in graphs. */
#include <errno.h>
#include <string.h>

#include "core/memory/array.h"
#include "core/streams/capture.h"
#include "driver.h"
#include "graph.h"

/* Copies and fills: done immediately, or kept for the graph that the stream captures. */

static CUresult driver_copy(const struct sim_copy3d *copy, CUstream stream)
{
    struct sim_work work = {.type = SIM_NODE_COPY};
    CUresult result = driver_enter();
    int error;
    if (result)
        return result;
    if (sim_captures(stream)) {
        work.copy = *copy;
        error = sim_capture_add(sim_stream(stream), &work);
        if (error != -ENOENT)
            return driver_result(error);
    }
    return driver_result(sim_copy_3d(copy));
}

static CUresult driver_copy_now(const struct sim_copy3d *copy)
{
    if (sim_capture_forbids())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return driver_copy(copy, NULL);
}

static struct sim_copy3d bytes(void *to, const void *from, size_t size,
                               enum sim_direction direction)
{
    return sim_copy_rows(to, size, from, size, size, 1, direction);
}

/* An immediate copy and one on a stream. to, from: the two addresses as the core represents
 * them. */
#define COPIES(name, to_type, from_type, to_address, from_address, direction)                      \
    CUresult name(to_type to, from_type from, size_t size)                                         \
    {                                                                                              \
        struct sim_copy3d copy = bytes(to_address, from_address, size, direction);                 \
        return driver_copy_now(&copy);                                                             \
    }                                                                                              \
    CUresult name##Async(to_type to, from_type from, size_t size, CUstream stream)                 \
    {                                                                                              \
        struct sim_copy3d copy = bytes(to_address, from_address, size, direction);                 \
        return driver_copy(&copy, stream);                                                         \
    }
COPIES(cuMemcpy, CUdeviceptr, CUdeviceptr, driver_pointer(to), driver_pointer(from), SIM_BY_ADDRESS)
COPIES(cuMemcpyHtoD, CUdeviceptr, const void *, driver_pointer(to), from, SIM_HOST_TO_DEVICE)
COPIES(cuMemcpyDtoH, void *, CUdeviceptr, to, driver_pointer(from), SIM_DEVICE_TO_HOST)
COPIES(cuMemcpyDtoD, CUdeviceptr, CUdeviceptr, driver_pointer(to), driver_pointer(from),
       SIM_DEVICE_TO_DEVICE)

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t size)
{
    (void)to_context;
    (void)from_context;
    return cuMemcpyDtoD(to, from, size);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t size, CUstream stream)
{
    (void)to_context;
    (void)from_context;
    return cuMemcpyDtoDAsync(to, from, size, stream);
}

/* --- fills ------------------------------------------------------------------------------- */

static CUresult set(CUdeviceptr to, size_t pitch, unsigned value, size_t element, size_t width,
                    size_t height, CUstream stream)
{
    struct sim_work work = {.type = SIM_NODE_FILL};
    CUresult result = driver_enter();
    int error = -ENOENT;
    if (result)
        return result;
    work.fill =
        (struct sim_fill){driver_pointer(to), pitch, value, (unsigned)element, width, height};
    if (sim_captures(stream))
        error = sim_capture_add(sim_stream(stream), &work);
    if (error != -ENOENT)
        return driver_result(error);
    error = 0;
    for (size_t row = 0; !error && row < height; row++)
        error = sim_set((char *)work.fill.to + row * pitch, value, element, width);
    return driver_result(error);
}

/* Fills of elements of so many bits: consecutive ones or rows, immediately or on a stream. */
#define FILLS(bits, type)                                                                          \
    CUresult cuMemsetD##bits(CUdeviceptr to, type value, size_t count)                             \
    {                                                                                              \
        return set(to, 0, value, (bits) / 8, count, 1, NULL);                                      \
    }                                                                                              \
    CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream)     \
    {                                                                                              \
        return set(to, 0, value, (bits) / 8, count, 1, stream);                                    \
    }                                                                                              \
    CUresult cuMemsetD2D##bits(CUdeviceptr to, size_t pitch, type value, size_t width,             \
                               size_t height)                                                      \
    {                                                                                              \
        return set(to, pitch, value, (bits) / 8, width, height, NULL);                             \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width,      \
                                      size_t height, CUstream stream)                              \
    {                                                                                              \
        return set(to, pitch, value, (bits) / 8, width, height, stream);                           \
    }
FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)

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

/* An immediate copy and one on a stream. */
#define COPIES_3D(name, type, form)                                                                \
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
COPIES_3D(cuMemcpy2D, CUDA_MEMCPY2D, COPY_2D)
COPIES_3D(cuMemcpy3D, CUDA_MEMCPY3D, COPY_3D)
COPIES_3D(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, COPY_3D)

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
