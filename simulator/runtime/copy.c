/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, each as a call of the driver, whose name or parameters say the direction. */
#include "copy.h"

#include "core/memory/array.h"

/* --- bytes ------------------------------------------------------------------------------- */

#define COPY(form, to_, from_)                                                                     \
    (waits ? DRIVER(cuMemcpy##form, to_, from_, size)                                              \
           : DRIVER(cuMemcpy##form##Async, to_, from_, size, stream))

cudaError_t runtime_copy_bytes(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                               bool waits, cudaStream_t stream)
{
    CUdeviceptr on_device = (CUdeviceptr)(uintptr_t)to, of_device = (CUdeviceptr)(uintptr_t)from;
    int error = runtime_up();
    if (error)
        return (cudaError_t)error;
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return COPY(HtoD, on_device, from);
    case cudaMemcpyDeviceToHost:
        return COPY(DtoH, to, of_device);
    case cudaMemcpyDeviceToDevice:
        return COPY(DtoD, on_device, of_device);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return waits ? DRIVER(cuMemcpy, on_device, of_device, size)
                     : DRIVER(cuMemcpyAsync, on_device, of_device, size, stream);
    default:
        return runtime_result(cudaErrorInvalidMemcpyDirection);
    }
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    return runtime_copy_bytes(to, from, size, kind, true, NULL);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return runtime_copy_bytes(to, from, size, kind, false, stream);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
    return cudaMemcpyPeerAsync(to, to_device, from, from_device, size, NULL);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size, cudaStream_t stream)
{
    (void)to_device;
    (void)from_device;
    return runtime_copy_bytes(to, from, size, cudaMemcpyDeviceToDevice, false, stream);
}

#if SIM_CUDA >= 13 /* CUDA 12's has other parameters */
cudaError_t cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
                                 size_t count, struct cudaMemcpyAttributes *attributes,
                                 size_t *attribute_starts, size_t attribute_count,
                                 cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    (void)attributes;
    (void)attribute_starts;
    (void)attribute_count;
    for (size_t i = 0; !error && i < count; i++)
        error = runtime_copy_bytes(to[i], from[i], sizes[i], cudaMemcpyDefault, false, stream);
    return error;
}
#endif

/* --- boxes: positions are in elements where an array is part of the copy, else in bytes ----- */

/* Return the unit of positions in it: an array's element, or a byte. */
static size_t unit_of(cudaArray_const_t array)
{
    return array ? ((const struct sim_array *)array)->element : 1;
}

/* Set the kinds of memory on both sides. Return false if the kind is unknown. */
static bool set_kind(CUDA_MEMCPY3D *form, enum cudaMemcpyKind kind)
{
    static const struct {
        CUmemorytype to, from;
    } types[] = {
        [cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
        [cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
        [cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
        [cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
        [cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
    };

    if ((unsigned)kind > cudaMemcpyDefault)
        return false;
    form->dstMemoryType = form->dstArray ? CU_MEMORYTYPE_ARRAY : types[kind].to;
    form->srcMemoryType = form->srcArray ? CU_MEMORYTYPE_ARRAY : types[kind].from;
    return true;
}

static enum cudaMemcpyKind kind_of(const CUDA_MEMCPY3D *form)
{
    bool to_host = form->dstMemoryType == CU_MEMORYTYPE_HOST;
    if (form->dstMemoryType == CU_MEMORYTYPE_UNIFIED ||
        form->srcMemoryType == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    if (form->srcMemoryType == CU_MEMORYTYPE_HOST)
        return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

/* One side of a copy. Both fields hold the memory's address; its type says which one applies. */
#define SIDE(side, array, address, pitch, height, x, y, z)                                         \
    .side##Array = (CUarray)(uintptr_t)(array), .side##Host = (void *)(uintptr_t)(address),        \
    .side##Device = (CUdeviceptr)(uintptr_t)(address), .side##Pitch = (pitch),                     \
    .side##Height = (height), .side##XInBytes = (x), .side##Y = (y), .side##Z = (z)
#define BOX_SIDE(side, p)                                                                          \
    SIDE(side, (p)->side##Array, (p)->side##Ptr.ptr, (p)->side##Ptr.pitch, (p)->side##Ptr.ysize,   \
         (p)->side##Pos.x *unit_of((p)->side##Array), (p)->side##Pos.y, (p)->side##Pos.z)
#define BOX(p)                                                                                     \
    {BOX_SIDE(dst, p), BOX_SIDE(src, p),                                                           \
     .WidthInBytes = (p)->extent.width * unit_of((p)->dstArray ? (p)->dstArray : (p)->srcArray),   \
     .Height = (p)->extent.height, .Depth = (p)->extent.depth}

bool runtime_copy_form(CUDA_MEMCPY3D *form, const struct cudaMemcpy3DParms *copy)
{
    *form = (CUDA_MEMCPY3D)BOX(copy);
    return set_kind(form, copy->kind);
}

#define TELL_SIDE(copy, side, form)                                                                \
    do {                                                                                           \
        (copy)->side##Array = (cudaArray_t)(form)->side##Array;                                    \
        (copy)->side##Pos =                                                                        \
            (struct cudaPos){(form)->side##XInBytes / unit_of((copy)->side##Array),                \
                             (form)->side##Y, (form)->side##Z};                                    \
        (copy)->side##Ptr = (struct cudaPitchedPtr){                                               \
            (form)->side##Host ? (void *)(uintptr_t)(form)->side##Host                             \
                               : (void *)(uintptr_t)(form)->side##Device,                          \
            (form)->side##Pitch, (form)->side##Pitch, (form)->side##Height};                       \
    } while (0)

void runtime_copy_of_form(struct cudaMemcpy3DParms *copy, const CUDA_MEMCPY3D *form)
{
    TELL_SIDE(copy, dst, form);
    TELL_SIDE(copy, src, form);
    copy->extent = (struct cudaExtent){
        form->WidthInBytes / unit_of(copy->dstArray ? copy->dstArray : copy->srcArray),
        form->Height, form->Depth};
    copy->kind = kind_of(form);
}

static cudaError_t copy_box(CUDA_MEMCPY3D form, enum cudaMemcpyKind kind, bool waits,
                            cudaStream_t stream)
{
    int error = runtime_up();
    if (error)
        return (cudaError_t)error;
    if (!set_kind(&form, kind))
        return runtime_result(cudaErrorInvalidMemcpyDirection);
    return waits ? DRIVER(cuMemcpy3D, &form) : DRIVER(cuMemcpy3DAsync, &form, stream);
}

/* A copy at once and one on a stream, with the parameters that follow. */
#define COPIES(name, form, kind, ...)                                                              \
    cudaError_t name(__VA_ARGS__)                                                                  \
    {                                                                                              \
        return copy_box(form, kind, true, NULL);                                                   \
    }                                                                                              \
                                                                                                   \
    cudaError_t name##Async(__VA_ARGS__, cudaStream_t stream)                                      \
    {                                                                                              \
        return copy_box(form, kind, false, stream);                                                \
    }
COPIES(cudaMemcpy3D, ((CUDA_MEMCPY3D)BOX(copy)), copy->kind, const struct cudaMemcpy3DParms *copy)
COPIES(cudaMemcpy3DPeer, ((CUDA_MEMCPY3D)BOX(copy)), cudaMemcpyDeviceToDevice,
       const struct cudaMemcpy3DPeerParms *copy)

/* --- rows: offsets are bytes and rows ------------------------------------------------------ */

#define MEMORY(side, address, pitch) SIDE(side, NULL, address, pitch, 0, 0, 0, 0)
#define ARRAY(side, array, x, y) SIDE(side, array, NULL, 0, 0, x, y, 0)
#define ROWS(to, from)                                                                             \
    ((CUDA_MEMCPY3D){to, from, .WidthInBytes = width, .Height = height, .Depth = 1})

COPIES(cudaMemcpy2D, ROWS(MEMORY(dst, to, to_pitch), MEMORY(src, from, from_pitch)), kind, void *to,
       size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
       enum cudaMemcpyKind kind)
COPIES(cudaMemcpy2DToArray, ROWS(ARRAY(dst, to, x, y), MEMORY(src, from, pitch)), kind,
       cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
       size_t height, enum cudaMemcpyKind kind)
COPIES(cudaMemcpy2DFromArray, ROWS(MEMORY(dst, to, pitch), ARRAY(src, from, x, y)), kind, void *to,
       size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
       enum cudaMemcpyKind kind)

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                     cudaArray_const_t from, size_t from_x, size_t from_y,
                                     size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return copy_box(ROWS(ARRAY(dst, to, to_x, to_y), ARRAY(src, from, from_x, from_y)), kind, true,
                    NULL);
}

/* --- fills ------------------------------------------------------------------------------- */

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    return cudaMemset3DAsync(to, value, extent, NULL);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    cudaError_t error = (cudaError_t)runtime_up();
    for (size_t z = 0; !error && z < extent.depth; z++)
        error = DRIVER(cuMemsetD2D8Async, (CUdeviceptr)(uintptr_t)to.ptr + z * to.pitch * to.ysize,
                       to.pitch, (unsigned char)value, extent.width, extent.height, stream);
    return error;
}
