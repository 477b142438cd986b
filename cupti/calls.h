/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that CUPTI is to report. C(domain, name, number, api, form): number is the callback's
 * in CUPTI's headers, which never reuse one, and name its name there; form: types.h. */
#ifndef MT_CUPTI_CALLS_H
#define MT_CUPTI_CALLS_H

/* clang-format off */
#define MT_CUPTI_CALLS(C)                                                                          \
    C(RUNTIME, cudaMalloc_v3020, 20, CUDA_MALLOC, alloc)                                           \
    C(RUNTIME, cudaMallocManaged_v6000, 206, CUDA_MALLOC_MANAGED, alloc)                           \
    C(RUNTIME, cudaMallocAsync_v11020, 373, CUDA_MALLOC_ASYNC, async)                              \
    C(RUNTIME, cudaMallocAsync_ptsz_v11020, 374, CUDA_MALLOC_ASYNC, async)                         \
    C(RUNTIME, cudaMallocFromPoolAsync_v11020, 391, CUDA_MALLOC_FROM_POOL_ASYNC, pool)             \
    C(RUNTIME, cudaMallocFromPoolAsync_ptsz_v11020, 392, CUDA_MALLOC_FROM_POOL_ASYNC, pool)        \
    C(RUNTIME, cudaMallocPitch_v3020, 21, CUDA_MALLOC_PITCH, pitch)                                \
    C(RUNTIME, cudaMalloc3D_v3020, 140, CUDA_MALLOC_3D, box)                                       \
    C(RUNTIME, cudaMallocArray_v3020, 23, CUDA_MALLOC_ARRAY, array)                                \
    C(RUNTIME, cudaMalloc3DArray_v3020, 141, CUDA_MALLOC_3D_ARRAY, array_3d)                       \
    C(RUNTIME, cudaMallocMipmappedArray_v5000, 192, CUDA_MALLOC_MIPMAPPED_ARRAY, mipmapped)        \
    C(RUNTIME, cudaMallocHost_v3020, 25, CUDA_MALLOC_HOST, alloc)                                  \
    C(RUNTIME, cudaHostAlloc_v3020, 27, CUDA_HOST_ALLOC, alloc)                                    \
    C(RUNTIME, cudaHostRegister_v4000, 152, CUDA_HOST_REGISTER, register)                          \
    C(RUNTIME, cudaIpcOpenMemHandle_v4010, 179, CUDA_IPC_OPEN, import)                             \
    C(RUNTIME, cudaExternalMemoryGetMappedBuffer_v10000, 275, CUDA_EXTERNAL_BUFFER, buffer)        \
    C(RUNTIME, cudaLibraryLoadData_v12060, 470, CUDA_LIBRARY_LOAD_DATA, made_of)                   \
    C(RUNTIME, cudaLibraryLoadFromFile_v12060, 471, CUDA_LIBRARY_LOAD_FILE, made_by)               \
    C(RUNTIME, cudaFree_v3020, 22, CUDA_FREE, free)                                                \
    C(RUNTIME, cudaFreeAsync_v11020, 375, CUDA_FREE_ASYNC, free_async)                             \
    C(RUNTIME, cudaFreeAsync_ptsz_v11020, 376, CUDA_FREE_ASYNC, free_async)                        \
    C(RUNTIME, cudaFreeArray_v3020, 24, CUDA_FREE_ARRAY, free)                                     \
    C(RUNTIME, cudaFreeMipmappedArray_v5000, 194, CUDA_FREE_MIPMAPPED_ARRAY, free)                 \
    C(RUNTIME, cudaFreeHost_v3020, 26, CUDA_FREE_HOST, free)                                       \
    C(RUNTIME, cudaHostUnregister_v4000, 153, CUDA_HOST_UNREGISTER, free)                          \
    C(RUNTIME, cudaIpcCloseMemHandle_v4010, 180, CUDA_IPC_CLOSE, free)                             \
    C(RUNTIME, cudaLibraryUnload_v12060, 472, CUDA_LIBRARY_UNLOAD, ending)                         \
    C(RUNTIME, cudaDeviceReset_v3020, 164, CUDA_DEVICE_RESET, reset)                               \
    C(DRIVER, cuMemAlloc_v2, 243, CU_MEM_ALLOC, alloc)                                             \
    C(DRIVER, cuMemAllocPitch_v2, 244, CU_MEM_ALLOC_PITCH, pitch)                                  \
    C(DRIVER, cuMemAllocManaged, 371, CU_MEM_ALLOC_MANAGED, alloc)                                 \
    C(DRIVER, cuMemAllocAsync, 598, CU_MEM_ALLOC_ASYNC, async)                                     \
    C(DRIVER, cuMemAllocAsync_ptsz, 599, CU_MEM_ALLOC_ASYNC, async)                                \
    C(DRIVER, cuMemAllocFromPoolAsync, 611, CU_MEM_ALLOC_FROM_POOL_ASYNC, pool)                    \
    C(DRIVER, cuMemAllocFromPoolAsync_ptsz, 612, CU_MEM_ALLOC_FROM_POOL_ASYNC, pool)               \
    C(DRIVER, cuMemAllocHost_v2, 294, CU_MEM_ALLOC_HOST, alloc)                                    \
    C(DRIVER, cuMemHostAlloc, 39, CU_MEM_HOST_ALLOC, alloc)                                        \
    C(DRIVER, cuMemHostAlloc_v2, 271, CU_MEM_HOST_ALLOC, alloc)                                    \
    C(DRIVER, cuMemHostRegister, 301, CU_MEM_HOST_REGISTER, register)                              \
    C(DRIVER, cuMemHostRegister_v2, 379, CU_MEM_HOST_REGISTER, register)                           \
    C(DRIVER, cuArrayCreate_v2, 272, CU_ARRAY_CREATE, flat)                                        \
    C(DRIVER, cuArray3DCreate_v2, 274, CU_ARRAY_3D_CREATE, deep)                                   \
    C(DRIVER, cuMipmappedArrayCreate, 347, CU_MIPMAPPED_ARRAY_CREATE, deep_levels)                 \
    C(DRIVER, cuMemCreate, 549, CU_MEM_CREATE, physical)                                           \
    C(DRIVER, cuMemImportFromShareableHandle, 555, CU_MEM_IMPORT, import)                          \
    C(DRIVER, cuMemRetainAllocationHandle, 565, CU_MEM_RETAIN, import)                             \
    C(DRIVER, cuMemMap, 551, CU_MEM_MAP, map)                                                      \
    C(DRIVER, cuMulticastCreate, 706, CU_MULTICAST_CREATE, team)                                   \
    C(DRIVER, cuMulticastBindMem, 708, CU_MULTICAST_BIND_MEM, bind)                                \
    C(DRIVER, cuMulticastBindAddr, 709, CU_MULTICAST_BIND_ADDRESS, bind_address)                   \
    C(DRIVER, cuMulticastUnbind, 710, CU_MULTICAST_UNBIND, unbind)                                 \
    C(DRIVER, cuIpcOpenMemHandle, 329, CU_IPC_OPEN, import)                                        \
    C(DRIVER, cuIpcOpenMemHandle_v2, 567, CU_IPC_OPEN, import)                                     \
    C(DRIVER, cuExternalMemoryGetMappedBuffer, 486, CU_EXTERNAL_BUFFER, buffer)                    \
    C(DRIVER, cuCtxCreate_v2, 235, CU_CTX_CREATE, made)                                            \
    C(DRIVER, cuCtxCreate_v3, 645, CU_CTX_CREATE, made)                                            \
    C(DRIVER, cuCtxCreate_v4, 757, CU_CTX_CREATE, made)                                            \
    C(DRIVER, cuDevicePrimaryCtxRetain, 386, CU_PRIMARY_CTX_RETAIN, made)                          \
    C(DRIVER, cuGreenCtxCreate, 743, CU_GREEN_CTX_CREATE, made)                                    \
    C(DRIVER, cuModuleLoad, 18, CU_MODULE_LOAD, made_by)                                           \
    C(DRIVER, cuModuleLoadData, 19, CU_MODULE_LOAD_DATA, made_of)                                  \
    C(DRIVER, cuModuleLoadDataEx, 20, CU_MODULE_LOAD_DATA_EX, made_of)                             \
    C(DRIVER, cuModuleLoadFatBinary, 21, CU_MODULE_LOAD_FAT_BINARY, made_of)                       \
    C(DRIVER, cuLibraryLoadData, 678, CU_LIBRARY_LOAD_DATA, made_of)                               \
    C(DRIVER, cuLibraryLoadFromFile, 679, CU_LIBRARY_LOAD_FILE, made_by)                           \
    C(DRIVER, cuMemFree_v2, 245, CU_MEM_FREE, free)                                                \
    C(DRIVER, cuMemFreeAsync, 600, CU_MEM_FREE_ASYNC, free_async)                                  \
    C(DRIVER, cuMemFreeAsync_ptsz, 601, CU_MEM_FREE_ASYNC, free_async)                             \
    C(DRIVER, cuMemFreeHost, 38, CU_MEM_FREE_HOST, free)                                           \
    C(DRIVER, cuMemHostUnregister, 302, CU_MEM_HOST_UNREGISTER, free)                              \
    C(DRIVER, cuArrayDestroy, 89, CU_ARRAY_DESTROY, free)                                          \
    C(DRIVER, cuMipmappedArrayDestroy, 349, CU_MIPMAPPED_ARRAY_DESTROY, free)                      \
    C(DRIVER, cuMemRelease, 550, CU_MEM_RELEASE, free)                                             \
    C(DRIVER, cuMemUnmap, 552, CU_MEM_UNMAP, unmap)                                                \
    C(DRIVER, cuIpcCloseMemHandle, 330, CU_IPC_CLOSE, free)                                        \
    C(DRIVER, cuCtxDestroy, 11, CU_CTX_DESTROY, ending)                                            \
    C(DRIVER, cuCtxDestroy_v2, 322, CU_CTX_DESTROY, ending)                                        \
    C(DRIVER, cuDevicePrimaryCtxRelease, 387, CU_PRIMARY_CTX_RELEASE, ending_device)               \
    C(DRIVER, cuDevicePrimaryCtxRelease_v2, 544, CU_PRIMARY_CTX_RELEASE, ending_device)            \
    C(DRIVER, cuDevicePrimaryCtxReset, 389, CU_PRIMARY_CTX_RESET, ending_device)                   \
    C(DRIVER, cuDevicePrimaryCtxReset_v2, 545, CU_PRIMARY_CTX_RESET, ending_device)                \
    C(DRIVER, cuGreenCtxDestroy, 744, CU_GREEN_CTX_DESTROY, ending)                                \
    C(DRIVER, cuModuleUnload, 22, CU_MODULE_UNLOAD, ending)                                        \
    C(DRIVER, cuLibraryUnload, 680, CU_LIBRARY_UNLOAD, ending)
/* clang-format on */

#define MT_CUPTI_NUMBERS 1024 /* above all of them */

#endif
