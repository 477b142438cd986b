/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only where the hooks' structures are those of the CUDA headers; test-cuda-hooks.py
 * compares the signatures. */
#include "preload/hooks/cuda-types.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#define SAME(ours, theirs)                                                                         \
    _Static_assert(sizeof(ours) == sizeof(theirs), #theirs " has another size")
#define SAME_MEMBER(ours, member, theirs, of_theirs)                                               \
    _Static_assert(offsetof(ours, member) == offsetof(theirs, of_theirs),                          \
                   #theirs "." #of_theirs " stands elsewhere")

SAME(unsigned, cudaError_t);
SAME(unsigned, CUresult);
SAME(struct mt_extent, struct cudaExtent);
SAME_MEMBER(struct mt_extent, depth, struct cudaExtent, depth);
SAME(struct mt_pitched, struct cudaPitchedPtr);
SAME_MEMBER(struct mt_pitched, address, struct cudaPitchedPtr, ptr);
SAME_MEMBER(struct mt_pitched, pitch, struct cudaPitchedPtr, pitch);
SAME(struct mt_texel, struct cudaChannelFormatDesc);
SAME_MEMBER(struct mt_texel, w, struct cudaChannelFormatDesc, w);
SAME(struct mt_ipc_handle, cudaIpcMemHandle_t);
SAME(struct mt_ipc_handle, CUipcMemHandle);
SAME_MEMBER(struct mt_external_buffer, size, struct cudaExternalMemoryBufferDesc, size);
SAME_MEMBER(struct mt_external_buffer, size, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
SAME(struct mt_array, CUDA_ARRAY_DESCRIPTOR);
SAME_MEMBER(struct mt_array, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME_MEMBER(struct mt_array, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME(struct mt_array_3d, CUDA_ARRAY3D_DESCRIPTOR);
SAME_MEMBER(struct mt_array_3d, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME_MEMBER(struct mt_array_3d, channels, CUDA_ARRAY3D_DESCRIPTOR, NumChannels);

SAME(struct mt_box_copy, struct cudaMemcpy3DParms);
SAME_MEMBER(struct mt_box_copy, from, struct cudaMemcpy3DParms, srcPtr);
SAME_MEMBER(struct mt_box_copy, to_array, struct cudaMemcpy3DParms, dstArray);
SAME_MEMBER(struct mt_box_copy, to, struct cudaMemcpy3DParms, dstPtr);
SAME_MEMBER(struct mt_box_copy, extent, struct cudaMemcpy3DParms, extent);
SAME(struct mt_flat_copy, CUDA_MEMCPY2D);
SAME_MEMBER(struct mt_flat_copy, from.memory, CUDA_MEMCPY2D, srcMemoryType);
SAME_MEMBER(struct mt_flat_copy, from.device, CUDA_MEMCPY2D, srcDevice);
SAME_MEMBER(struct mt_flat_copy, to.memory, CUDA_MEMCPY2D, dstMemoryType);
SAME_MEMBER(struct mt_flat_copy, to.array, CUDA_MEMCPY2D, dstArray);
SAME_MEMBER(struct mt_flat_copy, height, CUDA_MEMCPY2D, Height);
SAME(struct mt_deep_copy, CUDA_MEMCPY3D);
SAME_MEMBER(struct mt_deep_copy, from.memory, CUDA_MEMCPY3D, srcMemoryType);
SAME_MEMBER(struct mt_deep_copy, to.memory, CUDA_MEMCPY3D, dstMemoryType);
SAME_MEMBER(struct mt_deep_copy, to.device, CUDA_MEMCPY3D, dstDevice);
SAME_MEMBER(struct mt_deep_copy, depth, CUDA_MEMCPY3D, Depth);
_Static_assert(MT_MEMORY_HOST == (unsigned)CU_MEMORYTYPE_HOST, "has another number");
_Static_assert(MT_MEMORY_ARRAY == (unsigned)CU_MEMORYTYPE_ARRAY, "has another number");

SAME_MEMBER(struct mt_physical_properties, location_type, CUmemAllocationProp, location);
SAME_MEMBER(struct mt_physical_properties, location, CUmemAllocationProp, location.id);
SAME_MEMBER(struct mt_physical_properties, location_type, CUmemPoolProps, location);
SAME_MEMBER(struct mt_physical_properties, location, CUmemPoolProps, location.id);
_Static_assert(MT_LOCATION_DEVICE == CU_MEM_LOCATION_TYPE_DEVICE, "has another number");
_Static_assert(MT_POINTER_DEVICE == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "has another number");
#if CUDA_VERSION >= 12010
SAME_MEMBER(struct mt_multicast, devices, CUmulticastObjectProp, numDevices);
SAME_MEMBER(struct mt_multicast, size, CUmulticastObjectProp, size);
#endif

int main(void)
{
    return 0;
}
