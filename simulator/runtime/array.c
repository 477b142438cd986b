/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: each call is the driver's, whose formats have other names. */
#include "core/memory/array.h"

#include "api/calls.h"
#include "runtime.h"

/* The driver's formats of plain channels, by the runtime's kind and by 8, 16 and 32 bits. */
static const CUarray_format plain[3][3] = {
    [cudaChannelFormatKindSigned] = {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16,
                                     CU_AD_FORMAT_SIGNED_INT32},
    [cudaChannelFormatKindUnsigned] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16,
                                       CU_AD_FORMAT_UNSIGNED_INT32},
    [cudaChannelFormatKindFloat] = {0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT},
};

/* Normalized and compressed formats, which both interfaces number in one order. */
static const struct {
    int kind, format, count;
} runs[] = {{cudaChannelFormatKindUnsignedNormalized8X1, CU_AD_FORMAT_UNORM_INT8X1, 12},
            {cudaChannelFormatKindUnsignedBlockCompressed1, CU_AD_FORMAT_BC1_UNORM, 14}};

/* Return the driver's format; 0: there is none. */
static CUarray_format format_of(const struct cudaChannelFormatDesc *texel)
{
    int kind = (int)texel->f;
    if (kind <= cudaChannelFormatKindFloat)
        return texel->x == 8 || texel->x == 16 || texel->x == 32 ? plain[kind][texel->x >> 4] : 0;
    for (int i = 0; i < 2; i++)
        if (kind >= runs[i].kind && kind < runs[i].kind + runs[i].count)
            return (CUarray_format)(runs[i].format + kind - runs[i].kind);
    return 0;
}

static enum cudaChannelFormatKind kind_of(int format)
{
    for (int kind = 0; kind <= cudaChannelFormatKindFloat; kind++)
        for (int i = 0; i < 3; i++)
            if ((int)plain[kind][i] == format)
                return (enum cudaChannelFormatKind)kind;
    for (int i = 0; i < 2; i++)
        if (format >= runs[i].format && format < runs[i].format + runs[i].count)
            return (enum cudaChannelFormatKind)(runs[i].kind + format - runs[i].format);
    return cudaChannelFormatKindNone;
}

/* Make an array, or with levels a mipmapped one, by the driver. */
static cudaError_t create(void *out, const struct cudaChannelFormatDesc *texel,
                          struct cudaExtent extent, unsigned flags, unsigned levels)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    int error = runtime_up();
    if (error)
        return (cudaError_t)error;
    if (!out || !texel)
        return runtime_result(cudaErrorInvalidValue);
    shape.Format = format_of(texel);
    shape.NumChannels =
        (unsigned)((texel->x > 0) + (texel->y > 0) + (texel->z > 0) + (texel->w > 0));
    if (!shape.Format)
        return runtime_result(cudaErrorInvalidChannelDescriptor);
    return levels ? DRIVER(cuMipmappedArrayCreate, out, &shape, levels)
                  : DRIVER(cuArray3DCreate, out, &shape);
}

cudaError_t cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *format,
                            size_t width, size_t height, unsigned int flags)
{
    return RUNTIME_CALL(cudaMallocArray_v3020, (out, format, width, height, flags),
                        create(out, format, (struct cudaExtent){width, height, 0}, flags, 0));
}

cudaError_t cudaMalloc3DArray(cudaArray_t *out, const struct cudaChannelFormatDesc *format,
                              struct cudaExtent extent, unsigned int flags)
{
    return RUNTIME_CALL(cudaMalloc3DArray_v3020, (out, format, extent, flags),
                        create(out, format, extent, flags, 0));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    return RUNTIME_CALL(cudaFreeArray_v3020, (array),
                        array ? DRIVER(cuArrayDestroy, (CUarray)array) : cudaSuccess);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *out,
                                     const struct cudaChannelFormatDesc *format,
                                     struct cudaExtent extent, unsigned int levels,
                                     unsigned int flags)
{
    return RUNTIME_CALL(cudaMallocMipmappedArray_v5000, (out, format, extent, levels, flags),
                        levels ? create(out, format, extent, flags, levels)
                               : runtime_result(cudaErrorInvalidValue));
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmaps)
{
    return RUNTIME_CALL(cudaFreeMipmappedArray_v5000, (mipmaps),
                        DRIVER(cuMipmappedArrayDestroy, (CUmipmappedArray)mipmaps));
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t handle)
{
    const struct sim_array *array = (const struct sim_array *)handle;
    if (!format || !array)
        return runtime_result(cudaErrorInvalidValue);
    int bits = (int)array->element * 8 / array->channels, n = array->channels;
    *format = (struct cudaChannelFormatDesc){bits, n > 1 ? bits : 0, n > 2 ? bits : 0,
                                             n > 3 ? bits : 0, kind_of(array->format)};
    return cudaSuccess;
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
                             unsigned int *flags, cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    cudaError_t error = DRIVER(cuArray3DGetDescriptor, &shape, (CUarray)array);
    if (error)
        return error;
    if (format)
        cudaGetChannelDesc(format, array);
    if (extent)
        *extent = (struct cudaExtent){shape.Width, shape.Height, shape.Depth};
    if (flags)
        *flags = shape.Flags;
    return cudaSuccess;
}
