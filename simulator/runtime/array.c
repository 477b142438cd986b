/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and their handles. */
#include "core/memory/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "core/streams/capture.h"
#include "runtime.h"

static struct sim_array *array_of(cudaArray_const_t handle)
{
    return (struct sim_array *)(uintptr_t)handle;
}

static struct sim_array shape_of(const struct cudaChannelFormatDesc *format,
                                 struct cudaExtent extent, unsigned flags)
{
    struct sim_array shape = {.width = extent.width,
                              .height = extent.height,
                              .depth = extent.depth,
                              .flags = flags,
                              .format = (int)format->f,
                              .bits = {format->x, format->y, format->z, format->w}};

    for (int i = 0; i < 4; i++)
        if (shape.bits[i] > 0) {
            shape.channels++;
            shape.element += (unsigned)shape.bits[i] / 8;
        }
    return shape;
}

static cudaError_t create(cudaArray_t *out, const struct cudaChannelFormatDesc *format,
                          struct cudaExtent extent, unsigned flags)
{
    struct sim_array shape, *array;
    int error = sim_enter();

    if (!error && (!out || !format))
        error = -EINVAL;
    if (error)
        return runtime_error(error);
    if (sim_capture_forbids())
        return runtime_result(cudaErrorStreamCaptureUnsupported);
    shape = shape_of(format, extent, flags);
    error = sim_array_create(&shape, &array);
    if (!error)
        *out = (cudaArray_t)array;
    return runtime_error(error);
}

cudaError_t cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *format,
                            size_t width, size_t height, unsigned int flags)
{
    return RUNTIME_CALL(cudaMallocArray_v3020, (out, format, width, height, flags),
                        create(out, format, (struct cudaExtent){width, height, 0}, flags));
}

cudaError_t cudaMalloc3DArray(cudaArray_t *out, const struct cudaChannelFormatDesc *format,
                              struct cudaExtent extent, unsigned int flags)
{
    return RUNTIME_CALL(cudaMalloc3DArray_v3020, (out, format, extent, flags),
                        create(out, format, extent, flags));
}

static cudaError_t destroy(cudaArray_t array)
{
    return runtime_error(array ? sim_array_destroy(array_of(array)) : 0);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    return RUNTIME_CALL(cudaFreeArray_v3020, (array), destroy(array));
}

static cudaError_t create_mipmaps(cudaMipmappedArray_t *out,
                                  const struct cudaChannelFormatDesc *format,
                                  struct cudaExtent extent, unsigned levels, unsigned flags)
{
    struct sim_mipmaps *mipmaps;
    struct sim_array shape;
    int error = sim_enter();

    if (!error && (!out || !format))
        error = -EINVAL;
    if (error)
        return runtime_error(error);
    shape = shape_of(format, extent, flags);
    error = sim_mipmaps_create(&shape, levels, &mipmaps);
    if (!error)
        *out = (cudaMipmappedArray_t)mipmaps;
    return runtime_error(error);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *out,
                                     const struct cudaChannelFormatDesc *format,
                                     struct cudaExtent extent, unsigned int levels,
                                     unsigned int flags)
{
    return RUNTIME_CALL(cudaMallocMipmappedArray_v5000, (out, format, extent, levels, flags),
                        create_mipmaps(out, format, extent, levels, flags));
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmaps)
{
    return RUNTIME_CALL(cudaFreeMipmappedArray_v5000, (mipmaps),
                        runtime_error(sim_mipmaps_destroy((struct sim_mipmaps *)mipmaps)));
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *out, cudaMipmappedArray_const_t handle,
                                       unsigned int level)
{
    struct sim_mipmaps *mipmaps = (struct sim_mipmaps *)(uintptr_t)handle;

    if (!out || !mipmaps || level >= mipmaps->count)
        return runtime_result(cudaErrorInvalidValue);
    *out = (cudaArray_t)&mipmaps->levels[level];
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t handle)
{
    const struct sim_array *array = array_of(handle);

    if (!format || !array)
        return runtime_result(cudaErrorInvalidValue);
    *format =
        (struct cudaChannelFormatDesc){array->bits[0], array->bits[1], array->bits[2],
                                       array->bits[3], (enum cudaChannelFormatKind)array->format};
    return cudaSuccess;
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
                             unsigned int *flags, cudaArray_t handle)
{
    const struct sim_array *array = array_of(handle);

    if (!array)
        return runtime_result(cudaErrorInvalidResourceHandle);
    if (format)
        cudaGetChannelDesc(format, handle);
    if (extent)
        *extent = (struct cudaExtent){array->width, array->height, array->depth};
    if (flags)
        *flags = array->flags;
    return cudaSuccess;
}

cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *requirements,
                                           cudaArray_t array, int device)
{
    (void)device;
    if (!requirements || !array)
        return runtime_result(cudaErrorInvalidValue);
    memset(requirements, 0, sizeof(*requirements));
    requirements->size = sim_array_size(array_of(array));
    requirements->alignment = SIM_PAGE;
    return cudaSuccess;
}
