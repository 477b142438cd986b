/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory/array.h"

#include <string.h>

#include "api/calls.h"
#include "core/streams/capture.h"
#include "driver.h"

/* Return the bytes of one channel, or 0 for a format that arrays cannot have here. */
static unsigned bytes_of(CUarray_format format)
{
    if (format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4)
        return (format - CU_AD_FORMAT_UNORM_INT8X1) % 6 < 3 ? 1 : 2;
    if (format >= CU_AD_FORMAT_BC1_UNORM && format <= CU_AD_FORMAT_BC7_UNORM_SRGB)
        return format == CU_AD_FORMAT_BC6H_UF16 || format == CU_AD_FORMAT_BC6H_SF16 ? 2 : 1;
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

static struct sim_array shape_of(const CUDA_ARRAY3D_DESCRIPTOR *known)
{
    return (struct sim_array){.width = known->Width,
                              .height = known->Height,
                              .depth = known->Depth,
                              .element = bytes_of(known->Format) * known->NumChannels,
                              .flags = known->Flags,
                              .format = (int)known->Format,
                              .channels = (int)known->NumChannels};
}

static CUresult create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *known)
{
    struct sim_array shape = shape_of(known), *array;
    CUresult result = driver_enter();
    if (result)
        return result;
    if (sim_capture_forbids())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    result = driver_result(sim_array_create(&shape, &array));
    if (!result)
        *out = (CUarray)array;
    return result;
}

DRIVER_REPORTS(cuArrayCreate, (CUarray * out, const CUDA_ARRAY_DESCRIPTOR *known), (out, known))
{
    CUDA_ARRAY3D_DESCRIPTOR whole = {.Width = known->Width,
                                     .Height = known->Height,
                                     .Format = known->Format,
                                     .NumChannels = known->NumChannels};
    return create(out, &whole);
}

CUresult cuArray3DCreate(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *known)
{
    return DRIVER_CALL(cuArray3DCreate_v2, (out, known), create(out, known));
}

CUresult cuArrayDestroy(CUarray array)
{
    return DRIVER_CALL(cuArrayDestroy, (array),
                       driver_result(sim_array_destroy((struct sim_array *)array)));
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle)
{
    const struct sim_array *array = (const struct sim_array *)handle;
    if (!out || !array)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = (CUDA_ARRAY3D_DESCRIPTOR){.Width = array->width,
                                     .Height = array->height,
                                     .Depth = array->depth,
                                     .Format = (CUarray_format)array->format,
                                     .NumChannels = (unsigned)array->channels,
                                     .Flags = array->flags};
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *out, CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR whole;
    CUresult result = cuArray3DGetDescriptor(&whole, array);
    if (!result)
        *out = (CUDA_ARRAY_DESCRIPTOR){whole.Width, whole.Height, whole.Format, whole.NumChannels};
    return result;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *requirements, CUarray array,
                                      CUdevice device)
{
    (void)device;
    if (!requirements || !array)
        return CUDA_ERROR_INVALID_VALUE;
    memset(requirements, 0, sizeof(*requirements));
    requirements->size = sim_array_size((struct sim_array *)array);
    requirements->alignment = SIM_PAGE;
    return CUDA_SUCCESS;
}

DRIVER_REPORTS(cuMipmappedArrayCreate,
               (CUmipmappedArray * out, const CUDA_ARRAY3D_DESCRIPTOR *known, unsigned int levels),
               (out, known, levels))
{
    struct sim_array shape = shape_of(known);
    struct sim_mipmaps *mipmaps;
    CUresult result = driver_enter();
    if (!result)
        result = driver_result(sim_mipmaps_create(&shape, levels, &mipmaps));
    if (!result)
        *out = (CUmipmappedArray)mipmaps;
    return result;
}

CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned int level)
{
    struct sim_mipmaps *mipmaps = (struct sim_mipmaps *)handle;
    if (!out || !mipmaps || level >= mipmaps->count)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUarray)&mipmaps->levels[level];
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmaps)
{
    return DRIVER_CALL(cuMipmappedArrayDestroy, (mipmaps),
                       driver_result(sim_mipmaps_destroy((struct sim_mipmaps *)mipmaps)));
}
