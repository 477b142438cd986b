/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks of runtime and driver calls that allocate or free memory, create what uses some,
 * capture graphs, or look functions up. The call's rows in hooks-cuda.h and its hooks
 * (preload/cuda/hooks-cudart.c, hooks-driver.c) are generated from a row here.
 *
 * A row: the name of the hook; the symbols; the parameters; the same as arguments; and what the
 * hook records of the call (preload/cuda/hook-records.h). A second symbol is the call's form for
 * the thread's own default stream, whose hook has the suffix _ptds or _ptsz.
 */
#ifndef MT_PRELOAD_HOOKS_MEMORY_H
#define MT_PRELOAD_HOOKS_MEMORY_H

/* The last six parameters of cudaLibraryLoad* and cuLibraryLoad*. */
#define MT_LOAD_OPTIONS                                                                            \
    void *options, void **values, unsigned n, void *library_options, void **library_values,        \
        unsigned n_library
#define MT_LOAD_ARGUMENTS options, values, n, library_options, library_values, n_library

/* clang-format off */
/* R(X, name, suffix, symbol, symbol of the second form, parameters, arguments, record)
 * R1(X, name, symbol, parameters, arguments, record): a call without a second form */
#define MT_CUDART_MEMORY(R, R1, X)                                                                 \
    R1(X, cuda_malloc_managed, "cudaMallocManaged", (void **address, size_t size, unsigned flags), \
      (address, size, flags), ALLOCATED(CUDA_MALLOC_MANAGED, address, size))                       \
    R(X, cuda_malloc_async, ptsz, "cudaMallocAsync", "cudaMallocAsync_ptsz",                       \
      (void **address, size_t size, void *stream), (address, size, stream),                        \
      ALLOCATED_ASYNC(CUDA_MALLOC_ASYNC, address, size, stream))                                   \
    R(X, cuda_malloc_from_pool, ptsz, "cudaMallocFromPoolAsync", "cudaMallocFromPoolAsync_ptsz",   \
      (void **address, size_t size, void *pool, void *stream), (address, size, pool, stream),      \
      ALLOCATED_ASYNC(CUDA_MALLOC_FROM_POOL_ASYNC, address, size, stream))                         \
    R1(X, cuda_malloc_pitch, "cudaMallocPitch",                                                    \
      (void **address, size_t *pitch, size_t width, size_t height),                                \
      (address, pitch, width, height),                                                             \
      ALLOCATED_PADDED(CUDA_MALLOC_PITCH, address, (result ? width : *pitch) * height,             \
        width * height))                                                                           \
    R1(X, cuda_malloc_3d, "cudaMalloc3D", (struct mt_pitched *out, struct mt_extent extent),       \
      (out, extent),                                                                               \
      ALLOCATED_PADDED(CUDA_MALLOC_3D, &out->address,                                              \
       (result ? extent.width : out->pitch) * extent.height * extent.depth,                        \
       extent.width * extent.height * extent.depth))                                               \
    R1(X, cuda_malloc_array, "cudaMallocArray",                                                    \
      (void **array, const struct mt_texel *texel, size_t width, size_t height, unsigned flags),   \
      (array, texel, width, height, flags),                                                        \
      ALLOCATED(CUDA_MALLOC_ARRAY, array,                                                          \
        mt_cuda_array_bytes(texel, (struct mt_extent){width, height, 0}, 1)))                      \
    R1(X, cuda_malloc_3d_array, "cudaMalloc3DArray",                                               \
      (void **array, const struct mt_texel *texel, struct mt_extent extent, unsigned flags),       \
      (array, texel, extent, flags),                                                               \
      ALLOCATED(CUDA_MALLOC_3D_ARRAY, array, mt_cuda_array_bytes(texel, extent, 1)))               \
    R1(X, cuda_malloc_mipmapped, "cudaMallocMipmappedArray",                                       \
      (void **array, const struct mt_texel *texel, struct mt_extent extent, unsigned levels,       \
       unsigned flags),                                                                            \
      (array, texel, extent, levels, flags),                                                       \
      ALLOCATED(CUDA_MALLOC_MIPMAPPED_ARRAY, array, mt_cuda_array_bytes(texel, extent, levels)))   \
    R1(X, cuda_malloc_host, "cudaMallocHost", (void **address, size_t size), (address, size),      \
      ALLOCATED(CUDA_MALLOC_HOST, address, size))                                                  \
    R1(X, cuda_host_alloc, "cudaHostAlloc", (void **address, size_t size, unsigned flags),         \
      (address, size, flags), ALLOCATED_PINNED(CUDA_HOST_ALLOC, address, size))                    \
    R1(X, cuda_host_register, "cudaHostRegister", (void *address, size_t size, unsigned flags),    \
      (address, size, flags), ALLOCATED(CUDA_HOST_REGISTER, &address, size))                       \
    R1(X, cuda_ipc_open, "cudaIpcOpenMemHandle",                                                   \
      (void **address, struct mt_ipc_handle handle, unsigned flags), (address, handle, flags),     \
      ALLOCATED(CUDA_IPC_OPEN, address, 0))                                                        \
    R1(X, cuda_external_buffer, "cudaExternalMemoryGetMappedBuffer",                               \
      (void **address, void *external, const struct mt_external_buffer *buffer),                   \
      (address, external, buffer),                                                                 \
      ALLOCATED(CUDA_EXTERNAL_BUFFER, address, result ? 0 : buffer->size))                         \
    R1(X, cuda_library_load_data, "cudaLibraryLoadData",                                           \
      (void **library, const void *code, MT_LOAD_OPTIONS), (library, code, MT_LOAD_ARGUMENTS),     \
      MADE(CUDA_LIBRARY_LOAD_DATA, library, mt_cuda_image_bytes(code)))                            \
    R1(X, cuda_library_load_file, "cudaLibraryLoadFromFile",                                       \
      (void **library, const char *path, MT_LOAD_OPTIONS), (library, path, MT_LOAD_ARGUMENTS),     \
      MADE(CUDA_LIBRARY_LOAD_FILE, library, mt_cuda_file_bytes(path)))                             \
    R1(X, cuda_free, "cudaFree", (void *address), (address), FREED(CUDA_FREE, address))            \
    R(X, cuda_free_async, ptsz, "cudaFreeAsync", "cudaFreeAsync_ptsz",                             \
      (void *address, void *stream), (address, stream),                                            \
      FREED_ASYNC(CUDA_FREE_ASYNC, address, stream))                                               \
    R1(X, cuda_free_array, "cudaFreeArray", (void *array), (array), FREED(CUDA_FREE_ARRAY, array)) \
    R1(X, cuda_free_mipmapped, "cudaFreeMipmappedArray", (void *array), (array),                   \
      FREED(CUDA_FREE_MIPMAPPED_ARRAY, array))                                                     \
    R1(X, cuda_free_host, "cudaFreeHost", (void *address), (address),                              \
      FREED(CUDA_FREE_HOST, address))                                                              \
    R1(X, cuda_host_unregister, "cudaHostUnregister", (void *address), (address),                  \
      FREED(CUDA_HOST_UNREGISTER, address))                                                        \
    R1(X, cuda_ipc_close, "cudaIpcCloseMemHandle", (void *address), (address),                     \
      FREED(CUDA_IPC_CLOSE, address))                                                              \
    R1(X, cuda_library_unload, "cudaLibraryUnload", (void *library), (library),                    \
      ENDED(CUDA_LIBRARY_UNLOAD, library))                                                         \
    R1(X, cuda_stream, "cudaStreamCreate", (void **stream), (stream),                              \
      MADE(CUDA_STREAM_CREATE, stream, 0))                                                         \
    R1(X, cuda_stream_flags, "cudaStreamCreateWithFlags", (void **stream, unsigned flags),         \
      (stream, flags), MADE(CUDA_STREAM_CREATE_WITH_FLAGS, stream, 0))                             \
    R1(X, cuda_stream_priority, "cudaStreamCreateWithPriority",                                    \
      (void **stream, unsigned flags, int priority), (stream, flags, priority),                    \
      MADE(CUDA_STREAM_CREATE_WITH_PRIORITY, stream, 0))                                           \
    R1(X, cuda_stream_destroy, "cudaStreamDestroy", (void *stream), (stream),                      \
      ENDED(CUDA_STREAM_DESTROY, stream))                                                          \
    R1(X, cuda_device_reset, "cudaDeviceReset", (void), (), ENDED(CUDA_DEVICE_RESET, 0))           \
    R(X, cuda_capture, ptsz, "cudaStreamBeginCapture", "cudaStreamBeginCapture_ptsz",              \
      (void *stream, unsigned mode), (stream, mode), CAPTURE_BEGAN(stream))                        \
    R(X, cuda_capture_end, ptsz, "cudaStreamEndCapture", "cudaStreamEndCapture_ptsz",              \
      (void *stream, void **graph), (stream, graph), CAPTURE_ENDED(stream))                        \
    R(X, cuda_entry_point, ptsz, "cudaGetDriverEntryPoint", "cudaGetDriverEntryPoint_ptsz",        \
      (const char *symbol, void **function, unsigned long long flags, unsigned *status),           \
      (symbol, function, flags, status), LOOKED_UP(symbol, MT_CUDA_ANY_VERSION, flags, function))  \
    R(X, cuda_entry_point_by, ptsz, "cudaGetDriverEntryPointByVersion",                            \
       "cudaGetDriverEntryPointByVersion_ptsz",                                                    \
      (const char *symbol, void **function, unsigned version, unsigned long long flags,            \
       unsigned *status),                                                                          \
      (symbol, function, version, flags, status), LOOKED_UP(symbol, version, flags, function))

/* O(X, name, base, symbol, since, until, parameters, arguments, record): a call without a second form
 * S(X, name, base, symbol, symbol of the second form, since, parameters, arguments, record)
 * base, since, until: hooks-cuda.h */
#define MT_DRIVER_MEMORY(O, S, X)                                                                  \
    O(X, cu_mem_alloc, "cuMemAlloc", "cuMemAlloc_v2", 3020, 0, (uint64_t *address, size_t size),   \
      (address, size), ALLOCATED(CU_MEM_ALLOC, address, size))                                     \
    O(X, cu_mem_alloc_pitch, "cuMemAllocPitch", "cuMemAllocPitch_v2", 3020, 0,                     \
      (uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element),           \
      (address, pitch, width, height, element),                                                    \
      ALLOCATED_PADDED(CU_MEM_ALLOC_PITCH, address, (result ? width : *pitch) * height,            \
        width * height))                                                                           \
    O(X, cu_mem_alloc_managed, "cuMemAllocManaged", "cuMemAllocManaged", 6000, 0,                  \
      (uint64_t *address, size_t size, unsigned flags), (address, size, flags),                    \
      ALLOCATED(CU_MEM_ALLOC_MANAGED, address, size))                                              \
    S(X, cu_mem_alloc_async, "cuMemAllocAsync", "cuMemAllocAsync", "cuMemAllocAsync_ptsz", 11020,  \
      (uint64_t *address, size_t size, void *stream), (address, size, stream),                     \
      ALLOCATED_ASYNC(CU_MEM_ALLOC_ASYNC, address, size, stream))                                  \
    S(X, cu_mem_alloc_from_pool, "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync",             \
       "cuMemAllocFromPoolAsync_ptsz", 11020,                                                      \
      (uint64_t *address, size_t size, void *pool, void *stream), (address, size, pool, stream),   \
      ALLOCATED_ASYNC(CU_MEM_ALLOC_FROM_POOL_ASYNC, address, size, stream))                        \
    O(X, cu_mem_alloc_host, "cuMemAllocHost", "cuMemAllocHost_v2", 3020, 0,                        \
      (void **address, size_t size), (address, size), ALLOCATED(CU_MEM_ALLOC_HOST, address, size)) \
    O(X, cu_mem_host_alloc, "cuMemHostAlloc", "cuMemHostAlloc", 2020, 0,                           \
      (void **address, size_t size, unsigned flags), (address, size, flags),                       \
      ALLOCATED(CU_MEM_HOST_ALLOC, address, size))                                                 \
    O(X, cu_mem_host_register, "cuMemHostRegister", "cuMemHostRegister_v2", 4000, 0,               \
      (void *address, size_t size, unsigned flags), (address, size, flags),                        \
      ALLOCATED(CU_MEM_HOST_REGISTER, &address, size))                                             \
    O(X, cu_array_create, "cuArrayCreate", "cuArrayCreate_v2", 3020, 0,                            \
      (void **array, const struct mt_array *wanted), (array, wanted),                              \
      ALLOCATED(CU_ARRAY_CREATE, array, mt_cuda_flat_bytes(wanted)))                               \
    O(X, cu_array_3d_create, "cuArray3DCreate", "cuArray3DCreate_v2", 3020, 0,                     \
      (void **array, const struct mt_array_3d *wanted), (array, wanted),                           \
      ALLOCATED(CU_ARRAY_3D_CREATE, array, mt_cuda_deep_bytes(wanted, 1)))                         \
    O(X, cu_mipmapped_create, "cuMipmappedArrayCreate", "cuMipmappedArrayCreate", 5000, 0,         \
      (void **array, const struct mt_array_3d *wanted, unsigned levels), (array, wanted, levels),  \
      ALLOCATED(CU_MIPMAPPED_ARRAY_CREATE, array, mt_cuda_deep_bytes(wanted, levels)))             \
    O(X, cu_mem_import, "cuMemImportFromShareableHandle", "cuMemImportFromShareableHandle",        \
       10020, 0,                                                                                   \
      (uint64_t *handle, void *shared, unsigned type), (handle, shared, type),                     \
      ALLOCATED(CU_MEM_IMPORT, handle, 0))                                                         \
    O(X, cu_mem_retain, "cuMemRetainAllocationHandle", "cuMemRetainAllocationHandle", 11000, 0,    \
      (uint64_t *handle, void *address), (handle, address), ALLOCATED(CU_MEM_RETAIN, handle, 0))   \
    O(X, cu_multicast_create, "cuMulticastCreate", "cuMulticastCreate", 12010, 0,                  \
      (uint64_t *object, const struct mt_multicast *wanted), (object, wanted),                     \
      ALLOCATED_ON(CU_MULTICAST_CREATE, -1, object, wanted ? wanted->size : 0))                    \
    O(X, cu_multicast_bind, "cuMulticastBindMem", "cuMulticastBindMem", 12010, 13010,              \
      (uint64_t object, size_t at, uint64_t handle, size_t offset, size_t size,                    \
       unsigned long long flags),                                                                  \
      (object, at, handle, offset, size, flags),                                                   \
      BOUND(CU_MULTICAST_BIND_MEM, -1, object + at, size, handle))                                 \
    O(X, cu_multicast_bind_v2, "cuMulticastBindMem", "cuMulticastBindMem_v2", 13010, 0,            \
      (uint64_t object, int device, size_t at, uint64_t handle, size_t offset, size_t size,        \
       unsigned long long flags),                                                                  \
      (object, device, at, handle, offset, size, flags),                                           \
      BOUND(CU_MULTICAST_BIND_MEM, device, object + at, size, handle))                             \
    O(X, cu_multicast_bind_address, "cuMulticastBindAddr", "cuMulticastBindAddr", 12010, 13010,    \
      (uint64_t object, size_t at, uint64_t address, size_t size, unsigned long long flags),       \
      (object, at, address, size, flags),                                                          \
      BOUND(CU_MULTICAST_BIND_ADDRESS, -1, object + at, size, address))                            \
    O(X, cu_multicast_bind_address_v2, "cuMulticastBindAddr", "cuMulticastBindAddr_v2", 13010, 0,  \
      (uint64_t object, int device, size_t at, uint64_t address, size_t size,                      \
       unsigned long long flags),                                                                  \
      (object, device, at, address, size, flags),                                                  \
      BOUND(CU_MULTICAST_BIND_ADDRESS, device, object + at, size, address))                        \
    O(X, cu_multicast_unbind, "cuMulticastUnbind", "cuMulticastUnbind", 12010, 0,                  \
      (uint64_t object, int device, size_t at, size_t size), (object, device, at, size),           \
      UNBOUND(CU_MULTICAST_UNBIND, device, object + at, size))                                     \
    O(X, cu_mem_map, "cuMemMap", "cuMemMap", 10020, 0,                                             \
      (uint64_t address, size_t size, size_t offset, uint64_t handle, unsigned long long flags),   \
      (address, size, offset, handle, flags), MAPPED(CU_MEM_MAP, address, size, handle))           \
    O(X, cu_ipc_open, "cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2", 11000, 0,                     \
      (uint64_t *address, struct mt_ipc_handle handle, unsigned flags), (address, handle, flags),  \
      ALLOCATED(CU_IPC_OPEN, address, 0))                                                          \
    O(X, cu_external_buffer, "cuExternalMemoryGetMappedBuffer",                                    \
       "cuExternalMemoryGetMappedBuffer", 10000, 0,                                                \
      (uint64_t *address, void *external, const struct mt_external_buffer *buffer),                \
      (address, external, buffer),                                                                 \
      ALLOCATED(CU_EXTERNAL_BUFFER, address, result ? 0 : buffer->size))                           \
    O(X, cu_ctx_create_v2, "cuCtxCreate", "cuCtxCreate_v2", 3020, 11040,                           \
      (void **context, unsigned flags, int device), (context, flags, device),                      \
      MADE_ON(CU_CTX_CREATE, device, context))                                                     \
    O(X, cu_ctx_create_v3, "cuCtxCreate", "cuCtxCreate_v3", 11040, 12050,                          \
      (void **context, void *affinity, int n, unsigned flags, int device),                         \
      (context, affinity, n, flags, device), MADE_ON(CU_CTX_CREATE, device, context))              \
    O(X, cu_ctx_create_v4, "cuCtxCreate", "cuCtxCreate_v4", 12050, 0,                              \
      (void **context, void *parameters, unsigned flags, int device),                              \
      (context, parameters, flags, device), MADE_ON(CU_CTX_CREATE, device, context))               \
    O(X, cu_primary_retain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000, 0,       \
      (void **context, int device), (context, device),                                             \
      MADE_ON(CU_PRIMARY_CTX_RETAIN, device, context))                                             \
    O(X, cu_green_create, "cuGreenCtxCreate", "cuGreenCtxCreate", 12040, 0,                        \
      (void **context, void *resources, int device, unsigned flags),                               \
      (context, resources, device, flags), MADE_ON(CU_GREEN_CTX_CREATE, device, context))          \
    O(X, cu_green_destroy, "cuGreenCtxDestroy", "cuGreenCtxDestroy", 12040, 0, (void *context),    \
      (context), ENDED(CU_GREEN_CTX_DESTROY, context))                                             \
    O(X, cu_green_stream, "cuGreenCtxStreamCreate", "cuGreenCtxStreamCreate", 12050, 0,            \
      (void **stream, void *context, unsigned flags, int priority),                                \
      (stream, context, flags, priority), MADE(CU_GREEN_STREAM_CREATE, stream, 0))                 \
    O(X, cu_module_load, "cuModuleLoad", "cuModuleLoad", 2000, 0,                                  \
      (void **module, const char *path), (module, path),                                           \
      MADE(CU_MODULE_LOAD, module, mt_cuda_file_bytes(path)))                                      \
    O(X, cu_module_load_data, "cuModuleLoadData", "cuModuleLoadData", 2000, 0,                     \
      (void **module, const void *image), (module, image),                                         \
      MADE(CU_MODULE_LOAD_DATA, module, mt_cuda_image_bytes(image)))                               \
    O(X, cu_module_load_data_ex, "cuModuleLoadDataEx", "cuModuleLoadDataEx", 2010, 0,              \
      (void **module, const void *image, unsigned n, void *options, void **values),                \
      (module, image, n, options, values),                                                         \
      MADE(CU_MODULE_LOAD_DATA_EX, module, mt_cuda_image_bytes(image)))                            \
    O(X, cu_module_load_fat, "cuModuleLoadFatBinary", "cuModuleLoadFatBinary", 2000, 0,            \
      (void **module, const void *image), (module, image),                                         \
      MADE(CU_MODULE_LOAD_FAT_BINARY, module, mt_cuda_image_bytes(image)))                         \
    O(X, cu_library_load_data, "cuLibraryLoadData", "cuLibraryLoadData", 12000, 0,                 \
      (void **library, const void *code, MT_LOAD_OPTIONS), (library, code, MT_LOAD_ARGUMENTS),     \
      MADE(CU_LIBRARY_LOAD_DATA, library, mt_cuda_image_bytes(code)))                              \
    O(X, cu_library_load_file, "cuLibraryLoadFromFile", "cuLibraryLoadFromFile", 12000, 0,         \
      (void **library, const char *path, MT_LOAD_OPTIONS), (library, path, MT_LOAD_ARGUMENTS),     \
      MADE(CU_LIBRARY_LOAD_FILE, library, mt_cuda_file_bytes(path)))                               \
    O(X, cu_pool_create, "cuMemPoolCreate", "cuMemPoolCreate", 11020, 0,                           \
      (void **pool, const struct mt_physical_properties *wanted), (pool, wanted),                      \
      POOL_CREATED(pool, wanted))                                                                  \
    O(X, cu_pool_destroy, "cuMemPoolDestroy", "cuMemPoolDestroy", 11020, 0, (void *pool), (pool),  \
      POOL_ENDED(pool))                                                                            \
    O(X, cu_pool_set, "cuMemPoolSetAttribute", "cuMemPoolSetAttribute", 11020, 0,                  \
      (void *pool, int attribute, void *value), (pool, attribute, value),                          \
      POOL_SET(pool, attribute))                                                                   \
    O(X, cu_pool_trim, "cuMemPoolTrimTo", "cuMemPoolTrimTo", 11020, 0, (void *pool, size_t keep),  \
      (pool, keep), POOL_TRIMMED(pool))                                                            \
    O(X, cu_mem_free, "cuMemFree", "cuMemFree_v2", 3020, 0, (uint64_t address), (address),         \
      FREED(CU_MEM_FREE, address))                                                                 \
    S(X, cu_mem_free_async, "cuMemFreeAsync", "cuMemFreeAsync", "cuMemFreeAsync_ptsz", 11020,      \
      (uint64_t address, void *stream), (address, stream),                                         \
      FREED_ASYNC(CU_MEM_FREE_ASYNC, address, stream))                                             \
    O(X, cu_mem_free_host, "cuMemFreeHost", "cuMemFreeHost", 2000, 0, (void *address), (address),  \
      FREED(CU_MEM_FREE_HOST, address))                                                            \
    O(X, cu_mem_host_unregister, "cuMemHostUnregister", "cuMemHostUnregister", 4000, 0,            \
      (void *address), (address), FREED(CU_MEM_HOST_UNREGISTER, address))                          \
    O(X, cu_array_destroy, "cuArrayDestroy", "cuArrayDestroy", 2000, 0, (void *array), (array),    \
      FREED(CU_ARRAY_DESTROY, array))                                                              \
    O(X, cu_mipmapped_destroy, "cuMipmappedArrayDestroy", "cuMipmappedArrayDestroy", 5000, 0,      \
      (void *array), (array), FREED(CU_MIPMAPPED_ARRAY_DESTROY, array))                            \
    O(X, cu_mem_release, "cuMemRelease", "cuMemRelease", 10020, 0, (uint64_t handle), (handle),    \
      FREED(CU_MEM_RELEASE, handle))                                                               \
    O(X, cu_mem_unmap, "cuMemUnmap", "cuMemUnmap", 10020, 0, (uint64_t address, size_t size),      \
      (address, size), UNMAPPED(CU_MEM_UNMAP, address, size))                                      \
    O(X, cu_ipc_close, "cuIpcCloseMemHandle", "cuIpcCloseMemHandle", 4010, 0, (uint64_t address),  \
      (address), FREED(CU_IPC_CLOSE, address))                                                     \
    O(X, cu_ctx_destroy, "cuCtxDestroy", "cuCtxDestroy_v2", 4000, 0, (void *context), (context),   \
      ENDED(CU_CTX_DESTROY, context))                                                              \
    O(X, cu_primary_release, "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 7000, 0, \
      (int device), (device), ENDED(CU_PRIMARY_CTX_RELEASE, device))                               \
    O(X, cu_primary_reset, "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 7000, 0,       \
      (int device), (device), ENDED(CU_PRIMARY_CTX_RESET, device))                                 \
    O(X, cu_module_unload, "cuModuleUnload", "cuModuleUnload", 2000, 0, (void *module), (module),  \
      ENDED(CU_MODULE_UNLOAD, module))                                                             \
    O(X, cu_library_unload, "cuLibraryUnload", "cuLibraryUnload", 12000, 0, (void *library),       \
      (library), ENDED(CU_LIBRARY_UNLOAD, library))                                                \
    O(X, cu_stream_create, "cuStreamCreate", "cuStreamCreate", 2000, 0,                            \
      (void **stream, unsigned flags), (stream, flags), MADE(CU_STREAM_CREATE, stream, 0))         \
    O(X, cu_stream_create_priority, "cuStreamCreateWithPriority", "cuStreamCreateWithPriority",    \
       5050, 0,                                                                                    \
      (void **stream, unsigned flags, int priority), (stream, flags, priority),                    \
      MADE(CU_STREAM_CREATE_WITH_PRIORITY, stream, 0))                                             \
    O(X, cu_stream_destroy, "cuStreamDestroy", "cuStreamDestroy_v2", 4000, 0, (void *stream),      \
      (stream), ENDED(CU_STREAM_DESTROY, stream))                                                  \
    S(X, cu_capture, "cuStreamBeginCapture", "cuStreamBeginCapture_v2",                            \
       "cuStreamBeginCapture_v2_ptsz", 10010,                                                      \
      (void *stream, unsigned mode), (stream, mode), CAPTURE_BEGAN(stream))                        \
    S(X, cu_capture_end, "cuStreamEndCapture", "cuStreamEndCapture", "cuStreamEndCapture_ptsz",    \
       10000,                                                                                      \
      (void *stream, void **graph), (stream, graph), CAPTURE_ENDED(stream))                        \
    O(X, cu_get_proc, "cuGetProcAddress", "cuGetProcAddress", 11030, 12000,                        \
      (const char *symbol, void **function, int version, uint64_t flags),                          \
      (symbol, function, version, flags), LOOKED_UP(symbol, (unsigned)version, flags, function))   \
    O(X, cu_get_proc_v2, "cuGetProcAddress", "cuGetProcAddress_v2", 12000, 0,                      \
      (const char *symbol, void **function, int version, uint64_t flags, unsigned *status),        \
      (symbol, function, version, flags, status),                                                  \
      LOOKED_UP(symbol, (unsigned)version, flags, function))
/* clang-format on */

#endif
