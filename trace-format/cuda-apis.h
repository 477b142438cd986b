/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA calls that memory events name by number (argument `api`). A number is never reused.
 * All functions here are pure.
 */
#ifndef MT_TRACE_CUDA_APIS_H
#define MT_TRACE_CUDA_APIS_H

/* The kind of memory that a call concerns, and the meaning of the event's address. */
enum mt_space {
    MT_SPACE_DEVICE,   /* memory of a device, by address */
    MT_SPACE_MANAGED,  /* memory that moves between host and device, by address */
    MT_SPACE_HOST,     /* page-locked memory of the host, by address */
    MT_SPACE_ARRAY,    /* an array of texels, by handle; the size counts the texels */
    MT_SPACE_PHYSICAL, /* device memory without an address yet, by handle */
    MT_SPACE_IMPORTED, /* memory of another process or API, or a second handle: counted elsewhere */
    MT_SPACE_TEAM,     /* a multicast object, by handle: it maps memory of several devices */
    MT_SPACE_CONTEXT,  /* a context, by handle: CUDA does not report its size */
    MT_SPACE_MODULE,   /* a CUDA module, by handle: CUDA does not report its size */
    MT_SPACE_STREAM,   /* a stream, by handle: CUDA does not report its size */
    MT_SPACE_COMMUNICATOR, /* of NCCL, by handle */
    MT_SPACE_IN_USE,       /* memory in use, by addresses into it: copies, memsets */
    MT_SPACE_UNKNOWN,      /* a call unknown to this version */
};

/* A(enumerator, number, name, space): the runtime's from 0, the driver's from 64, NCCL's from 192.
 */
/* clang-format off */
#define MT_CUDA_APIS(A)                                                                            \
    A(CUDA_MALLOC, 0, "cudaMalloc", DEVICE)                                                        \
    A(CUDA_MALLOC_MANAGED, 1, "cudaMallocManaged", MANAGED)                                        \
    A(CUDA_MALLOC_ASYNC, 2, "cudaMallocAsync", DEVICE)                                             \
    A(CUDA_MALLOC_FROM_POOL_ASYNC, 3, "cudaMallocFromPoolAsync", DEVICE)                           \
    A(CUDA_MALLOC_PITCH, 4, "cudaMallocPitch", DEVICE)                                             \
    A(CUDA_MALLOC_3D, 5, "cudaMalloc3D", DEVICE)                                                   \
    A(CUDA_MALLOC_ARRAY, 6, "cudaMallocArray", ARRAY)                                              \
    A(CUDA_MALLOC_3D_ARRAY, 7, "cudaMalloc3DArray", ARRAY)                                         \
    A(CUDA_MALLOC_MIPMAPPED_ARRAY, 8, "cudaMallocMipmappedArray", ARRAY)                           \
    A(CUDA_MALLOC_HOST, 9, "cudaMallocHost", HOST)                                                 \
    A(CUDA_HOST_ALLOC, 10, "cudaHostAlloc", HOST)                                                  \
    A(CUDA_HOST_REGISTER, 11, "cudaHostRegister", HOST)                                            \
    A(CUDA_IPC_OPEN, 12, "cudaIpcOpenMemHandle", IMPORTED)                                         \
    A(CUDA_EXTERNAL_BUFFER, 13, "cudaExternalMemoryGetMappedBuffer", IMPORTED)                     \
    A(CUDA_LIBRARY_LOAD_DATA, 14, "cudaLibraryLoadData", MODULE)                                   \
    A(CUDA_LIBRARY_LOAD_FILE, 15, "cudaLibraryLoadFromFile", MODULE)                               \
    A(CUDA_FREE, 32, "cudaFree", DEVICE)                                                           \
    A(CUDA_FREE_ASYNC, 33, "cudaFreeAsync", DEVICE)                                                \
    A(CUDA_FREE_ARRAY, 34, "cudaFreeArray", ARRAY)                                                 \
    A(CUDA_FREE_MIPMAPPED_ARRAY, 35, "cudaFreeMipmappedArray", ARRAY)                              \
    A(CUDA_FREE_HOST, 36, "cudaFreeHost", HOST)                                                    \
    A(CUDA_HOST_UNREGISTER, 37, "cudaHostUnregister", HOST)                                        \
    A(CUDA_IPC_CLOSE, 38, "cudaIpcCloseMemHandle", IMPORTED)                                       \
    A(CUDA_LIBRARY_UNLOAD, 39, "cudaLibraryUnload", MODULE)                                        \
    A(CUDA_DEVICE_RESET, 40, "cudaDeviceReset", CONTEXT)                                           \
    A(CUDA_COPY, 41, "cudaMemcpy", IN_USE)                                                         \
    A(CUDA_COPY_ASYNC, 42, "cudaMemcpyAsync", IN_USE)                                              \
    A(CUDA_COPY_2D, 43, "cudaMemcpy2D", IN_USE)                                                    \
    A(CUDA_COPY_2D_ASYNC, 44, "cudaMemcpy2DAsync", IN_USE)                                         \
    A(CUDA_COPY_3D, 45, "cudaMemcpy3D", IN_USE)                                                    \
    A(CUDA_COPY_3D_ASYNC, 46, "cudaMemcpy3DAsync", IN_USE)                                         \
    A(CUDA_COPY_PEER, 47, "cudaMemcpyPeer", IN_USE)                                                \
    A(CUDA_COPY_PEER_ASYNC, 48, "cudaMemcpyPeerAsync", IN_USE)                                     \
    A(CUDA_SET, 49, "cudaMemset", IN_USE)                                                          \
    A(CUDA_SET_ASYNC, 50, "cudaMemsetAsync", IN_USE)                                               \
    A(CUDA_SET_2D, 51, "cudaMemset2D", IN_USE)                                                     \
    A(CUDA_SET_2D_ASYNC, 52, "cudaMemset2DAsync", IN_USE)                                          \
    A(CUDA_SET_3D, 53, "cudaMemset3D", IN_USE)                                                     \
    A(CUDA_SET_3D_ASYNC, 54, "cudaMemset3DAsync", IN_USE)                                          \
    A(CUDA_STREAM_CREATE, 55, "cudaStreamCreate", STREAM)                                          \
    A(CUDA_STREAM_CREATE_WITH_FLAGS, 56, "cudaStreamCreateWithFlags", STREAM)                      \
    A(CUDA_STREAM_CREATE_WITH_PRIORITY, 57, "cudaStreamCreateWithPriority", STREAM)                \
    A(CUDA_STREAM_DESTROY, 58, "cudaStreamDestroy", STREAM)                                        \
    A(CU_MEM_ALLOC, 64, "cuMemAlloc", DEVICE)                                                      \
    A(CU_MEM_ALLOC_PITCH, 65, "cuMemAllocPitch", DEVICE)                                           \
    A(CU_MEM_ALLOC_MANAGED, 66, "cuMemAllocManaged", MANAGED)                                      \
    A(CU_MEM_ALLOC_ASYNC, 67, "cuMemAllocAsync", DEVICE)                                           \
    A(CU_MEM_ALLOC_FROM_POOL_ASYNC, 68, "cuMemAllocFromPoolAsync", DEVICE)                         \
    A(CU_MEM_ALLOC_HOST, 69, "cuMemAllocHost", HOST)                                               \
    A(CU_MEM_HOST_ALLOC, 70, "cuMemHostAlloc", HOST)                                               \
    A(CU_MEM_HOST_REGISTER, 71, "cuMemHostRegister", HOST)                                         \
    A(CU_ARRAY_CREATE, 72, "cuArrayCreate", ARRAY)                                                 \
    A(CU_ARRAY_3D_CREATE, 73, "cuArray3DCreate", ARRAY)                                            \
    A(CU_MIPMAPPED_ARRAY_CREATE, 74, "cuMipmappedArrayCreate", ARRAY)                              \
    A(CU_MEM_CREATE, 75, "cuMemCreate", PHYSICAL)                                                  \
    A(CU_MEM_IMPORT, 76, "cuMemImportFromShareableHandle", IMPORTED)                               \
    A(CU_MEM_MAP, 77, "cuMemMap", PHYSICAL)                                                        \
    A(CU_IPC_OPEN, 78, "cuIpcOpenMemHandle", IMPORTED)                                             \
    A(CU_EXTERNAL_BUFFER, 79, "cuExternalMemoryGetMappedBuffer", IMPORTED)                         \
    A(CU_CTX_CREATE, 80, "cuCtxCreate", CONTEXT)                                                   \
    A(CU_PRIMARY_CTX_RETAIN, 81, "cuDevicePrimaryCtxRetain", CONTEXT)                              \
    A(CU_MODULE_LOAD, 82, "cuModuleLoad", MODULE)                                                  \
    A(CU_MODULE_LOAD_DATA, 83, "cuModuleLoadData", MODULE)                                         \
    A(CU_MODULE_LOAD_DATA_EX, 84, "cuModuleLoadDataEx", MODULE)                                    \
    A(CU_MODULE_LOAD_FAT_BINARY, 85, "cuModuleLoadFatBinary", MODULE)                              \
    A(CU_LIBRARY_LOAD_DATA, 86, "cuLibraryLoadData", MODULE)                                       \
    A(CU_LIBRARY_LOAD_FILE, 87, "cuLibraryLoadFromFile", MODULE)                                   \
    A(CU_MEM_RETAIN, 88, "cuMemRetainAllocationHandle", IMPORTED)                                  \
    A(CU_MEM_FREE, 96, "cuMemFree", DEVICE)                                                        \
    A(CU_MEM_FREE_ASYNC, 97, "cuMemFreeAsync", DEVICE)                                             \
    A(CU_MEM_FREE_HOST, 98, "cuMemFreeHost", HOST)                                                 \
    A(CU_MEM_HOST_UNREGISTER, 99, "cuMemHostUnregister", HOST)                                     \
    A(CU_ARRAY_DESTROY, 100, "cuArrayDestroy", ARRAY)                                              \
    A(CU_MIPMAPPED_ARRAY_DESTROY, 101, "cuMipmappedArrayDestroy", ARRAY)                           \
    A(CU_MEM_RELEASE, 102, "cuMemRelease", PHYSICAL)                                               \
    A(CU_MEM_UNMAP, 103, "cuMemUnmap", PHYSICAL)                                                   \
    A(CU_IPC_CLOSE, 104, "cuIpcCloseMemHandle", IMPORTED)                                          \
    A(CU_CTX_DESTROY, 105, "cuCtxDestroy", CONTEXT)                                                \
    A(CU_PRIMARY_CTX_RELEASE, 106, "cuDevicePrimaryCtxRelease", CONTEXT)                           \
    A(CU_PRIMARY_CTX_RESET, 107, "cuDevicePrimaryCtxReset", CONTEXT)                               \
    A(CU_MODULE_UNLOAD, 108, "cuModuleUnload", MODULE)                                             \
    A(CU_LIBRARY_UNLOAD, 109, "cuLibraryUnload", MODULE)                                           \
    A(CU_COPY, 110, "cuMemcpy", IN_USE)                                                            \
    A(CU_COPY_ASYNC, 111, "cuMemcpyAsync", IN_USE)                                                 \
    A(CU_COPY_IN, 112, "cuMemcpyHtoD", IN_USE)                                                     \
    A(CU_COPY_IN_ASYNC, 113, "cuMemcpyHtoDAsync", IN_USE)                                          \
    A(CU_COPY_OUT, 114, "cuMemcpyDtoH", IN_USE)                                                    \
    A(CU_COPY_OUT_ASYNC, 115, "cuMemcpyDtoHAsync", IN_USE)                                         \
    A(CU_COPY_WITHIN, 116, "cuMemcpyDtoD", IN_USE)                                                 \
    A(CU_COPY_WITHIN_ASYNC, 117, "cuMemcpyDtoDAsync", IN_USE)                                      \
    A(CU_COPY_PEER, 118, "cuMemcpyPeer", IN_USE)                                                   \
    A(CU_COPY_PEER_ASYNC, 119, "cuMemcpyPeerAsync", IN_USE)                                        \
    A(CU_COPY_2D, 120, "cuMemcpy2D", IN_USE)                                                       \
    A(CU_COPY_2D_ASYNC, 121, "cuMemcpy2DAsync", IN_USE)                                            \
    A(CU_COPY_3D, 122, "cuMemcpy3D", IN_USE)                                                       \
    A(CU_COPY_3D_ASYNC, 123, "cuMemcpy3DAsync", IN_USE)                                            \
    A(CU_SET_8, 124, "cuMemsetD8", IN_USE)                                                         \
    A(CU_SET_8_ASYNC, 125, "cuMemsetD8Async", IN_USE)                                              \
    A(CU_SET_16, 126, "cuMemsetD16", IN_USE)                                                       \
    A(CU_SET_16_ASYNC, 127, "cuMemsetD16Async", IN_USE)                                            \
    A(CU_SET_32, 128, "cuMemsetD32", IN_USE)                                                       \
    A(CU_SET_32_ASYNC, 129, "cuMemsetD32Async", IN_USE)                                            \
    A(CU_SET_2D_8, 130, "cuMemsetD2D8", IN_USE)                                                    \
    A(CU_SET_2D_8_ASYNC, 131, "cuMemsetD2D8Async", IN_USE)                                         \
    A(CU_SET_2D_16, 132, "cuMemsetD2D16", IN_USE)                                                  \
    A(CU_SET_2D_16_ASYNC, 133, "cuMemsetD2D16Async", IN_USE)                                       \
    A(CU_SET_2D_32, 134, "cuMemsetD2D32", IN_USE)                                                  \
    A(CU_SET_2D_32_ASYNC, 135, "cuMemsetD2D32Async", IN_USE)                                       \
    A(CU_COPY_2D_UNALIGNED, 136, "cuMemcpy2DUnaligned", IN_USE)                                    \
    A(CU_STREAM_CREATE, 137, "cuStreamCreate", STREAM)                                             \
    A(CU_STREAM_CREATE_WITH_PRIORITY, 138, "cuStreamCreateWithPriority", STREAM)                   \
    A(CU_STREAM_DESTROY, 139, "cuStreamDestroy", STREAM)                                           \
    A(CU_MULTICAST_CREATE, 140, "cuMulticastCreate", TEAM)                                         \
    A(CU_MULTICAST_BIND_MEM, 141, "cuMulticastBindMem", TEAM)                                      \
    A(CU_MULTICAST_BIND_ADDRESS, 142, "cuMulticastBindAddr", TEAM)                                 \
    A(CU_MULTICAST_UNBIND, 143, "cuMulticastUnbind", TEAM)                                         \
    A(CU_GREEN_CTX_CREATE, 144, "cuGreenCtxCreate", CONTEXT)                                       \
    A(CU_GREEN_CTX_DESTROY, 145, "cuGreenCtxDestroy", CONTEXT)                                     \
    A(CU_GREEN_STREAM_CREATE, 146, "cuGreenCtxStreamCreate", STREAM)                               \
    A(NCCL_INIT, 192, "ncclCommInitRank", COMMUNICATOR)                                            \
    A(NCCL_INIT_CONFIG, 193, "ncclCommInitRankConfig", COMMUNICATOR)                               \
    A(NCCL_INIT_SCALABLE, 194, "ncclCommInitRankScalable", COMMUNICATOR)                           \
    A(NCCL_INIT_ALL, 195, "ncclCommInitAll", COMMUNICATOR)                                         \
    A(NCCL_SPLIT, 196, "ncclCommSplit", COMMUNICATOR)                                              \
    A(NCCL_SHRINK, 197, "ncclCommShrink", COMMUNICATOR)                                            \
    A(NCCL_DESTROY, 198, "ncclCommDestroy", COMMUNICATOR)                                          \
    A(NCCL_ABORT, 199, "ncclCommAbort", COMMUNICATOR)
/* clang-format on */

enum mt_cuda_api {
#define MT_API_ENUM(id, number, name, space) MT_API_##id = (number),
    MT_CUDA_APIS(MT_API_ENUM)
#undef MT_API_ENUM
        MT_API_LIMIT
};

/* Any number is allowed: the results are "?" and MT_SPACE_UNKNOWN if this version does not know it.
 */
const char *mt_cuda_api_name(unsigned long long api);
/* Inline, so that the compiler folds it for a constant call. */
static inline enum mt_space mt_cuda_api_space(unsigned long long api)
{
    switch (api) {
#define MT_API_CASE(id, number, name, space)                                                       \
    case number:                                                                                   \
        return MT_SPACE_##space;
        MT_CUDA_APIS(MT_API_CASE)
#undef MT_API_CASE
    }
    return MT_SPACE_UNKNOWN;
}

#endif
