/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA structures that the hooks need: libmemtap.so is built without CUDA's headers.
 * tests/shim/test-headers.c compares the two. */
#ifndef MT_PRELOAD_CUDA_TYPES_H
#define MT_PRELOAD_CUDA_TYPES_H

#include <stddef.h>

struct mt_extent { /* cudaExtent: bytes or texels, rows, slices */
    size_t width, height, depth;
};

struct mt_pitched { /* cudaPitchedPtr */
    void *address;
    size_t pitch, width, height;
};

struct mt_texel { /* cudaChannelFormatDesc: bits of each channel */
    int x, y, z, w, kind;
};

struct mt_ipc_handle { /* cudaIpcMemHandle_t, CUipcMemHandle */
    char bytes[64];
};

struct mt_external_buffer { /* cudaExternalMemoryBufferDesc, CUDA_EXTERNAL_MEMORY_BUFFER_DESC */
    unsigned long long offset, size; /* and more */
};

struct mt_array { /* CUDA_ARRAY_DESCRIPTOR: texels; format: CUarray_format */
    size_t width, height;
    unsigned format, channels;
};

struct mt_array_3d { /* CUDA_ARRAY3D_DESCRIPTOR */
    size_t width, height, depth;
    unsigned format, channels, flags;
};

struct mt_corner { /* cudaPos */
    size_t x, y, z;
};

struct mt_box_copy { /* cudaMemcpy3DParms: an array, or memory if that is NULL */
    const void *from_array;
    struct mt_corner from_corner;
    struct mt_pitched from;
    const void *to_array;
    struct mt_corner to_corner;
    struct mt_pitched to;
    struct mt_extent extent;
    unsigned kind;
};

struct mt_flat_end { /* each end of a CUDA_MEMCPY2D; memory: CUmemorytype */
    size_t x, y;
    unsigned memory;
    const void *host;
    unsigned long long device;
    const void *array;
    size_t pitch;
};

struct mt_flat_copy { /* CUDA_MEMCPY2D */
    struct mt_flat_end from, to;
    size_t width, height; /* bytes, rows */
};

struct mt_deep_end { /* of a CUDA_MEMCPY3D */
    size_t x, y, z, level;
    unsigned memory;
    const void *host;
    unsigned long long device;
    const void *array, *reserved;
    size_t pitch, height;
};

struct mt_deep_copy { /* CUDA_MEMCPY3D */
    struct mt_deep_end from, to;
    size_t width, height, depth;
};

#define MT_MEMORY_HOST 1u  /* CU_MEMORYTYPE_HOST */
#define MT_MEMORY_ARRAY 3u /* CU_MEMORYTYPE_ARRAY; others have an address on a device */

struct mt_physical_properties { /* CUmemAllocationProp, CUmemPoolProps: where, and more */
    unsigned type, handle_types, location_type;
    int location;
};
#define MT_LOCATION_DEVICE 1u /* CU_MEM_LOCATION_TYPE_DEVICE */
#define MT_POINTER_DEVICE 9   /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */

struct mt_multicast { /* CUmulticastObjectProp, and more */
    unsigned devices;
    size_t size;
};

#endif
