/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of the runtime's and the driver's memory, each once; see hooks.h. not-hooked.list has
 * the functions that make or free memory without a hook, with the reason. */
#ifndef MT_PRELOAD_HOOKS_CUDA_H
#define MT_PRELOAD_HOOKS_CUDA_H

#ifndef MT_EXPORTS_MAP
#include "cuda-types.h"
#endif

#include "hooks-copies.h"
#include "hooks-noticed.h"

/* The last six parameters of cudaLibraryLoad* and cuLibraryLoad*. */
#define MT_LOAD_OPTIONS                                                                            \
    void *options, void **values, unsigned n, void *library_options, void **library_values,        \
        unsigned n_library

/* clang-format off */
/* The runtime's functions; all return a cudaError_t. */
#define MT_CUDART_HOOKS(H)                                                                         \
    MT_CUDART_COPY_HOOKS(H)                                                                        \
    MT_CUDART_NOTICED_HOOKS(H)                                                                     \
    H(cuda_device_count, "cudaGetDeviceCount", "libcudart.so.13", unsigned,                        \
      (int *count))                                                                                \
    H(cuda_set_device, "cudaSetDevice", "libcudart.so.13", unsigned,                               \
      (int device))                                                                                \
    H(cuda_malloc, "cudaMalloc", "libcudart.so.13", unsigned,                                      \
      (void **address, size_t size))                                                               \
    H(cuda_malloc_managed, "cudaMallocManaged", "libcudart.so.13", unsigned,                       \
      (void **address, size_t size, unsigned flags))                                               \
    H(cuda_malloc_async, "cudaMallocAsync", "libcudart.so.13", unsigned,                           \
      (void **address, size_t size, void *stream))                                                 \
    H(cuda_malloc_async_ptsz, "cudaMallocAsync_ptsz", "libcudart.so.13", unsigned,                 \
      (void **address, size_t size, void *stream))                                                 \
    H(cuda_malloc_from_pool, "cudaMallocFromPoolAsync", "libcudart.so.13", unsigned,               \
      (void **address, size_t size, void *pool, void *stream))                                     \
    H(cuda_malloc_from_pool_ptsz, "cudaMallocFromPoolAsync_ptsz", "libcudart.so.13", unsigned,     \
      (void **address, size_t size, void *pool, void *stream))                                     \
    H(cuda_malloc_pitch, "cudaMallocPitch", "libcudart.so.13", unsigned,                           \
      (void **address, size_t *pitch, size_t width, size_t height))                                \
    H(cuda_malloc_3d, "cudaMalloc3D", "libcudart.so.13", unsigned,                                 \
      (struct mt_pitched *out, struct mt_extent extent))                                           \
    H(cuda_malloc_array, "cudaMallocArray", "libcudart.so.13", unsigned,                           \
      (void **array, const struct mt_texel *texel, size_t width, size_t height, unsigned flags))   \
    H(cuda_malloc_3d_array, "cudaMalloc3DArray", "libcudart.so.13", unsigned,                      \
      (void **array, const struct mt_texel *texel, struct mt_extent extent, unsigned flags))       \
    H(cuda_malloc_mipmapped, "cudaMallocMipmappedArray", "libcudart.so.13", unsigned,              \
      (void **array, const struct mt_texel *texel, struct mt_extent extent, unsigned levels,       \
       unsigned flags))                                                                            \
    H(cuda_malloc_host, "cudaMallocHost", "libcudart.so.13", unsigned,                             \
      (void **address, size_t size))                                                               \
    H(cuda_host_alloc, "cudaHostAlloc", "libcudart.so.13", unsigned,                               \
      (void **address, size_t size, unsigned flags))                                               \
    H(cuda_host_register, "cudaHostRegister", "libcudart.so.13", unsigned,                         \
      (void *address, size_t size, unsigned flags))                                                \
    H(cuda_ipc_open, "cudaIpcOpenMemHandle", "libcudart.so.13", unsigned,                          \
      (void **address, struct mt_ipc_handle handle, unsigned flags))                               \
    H(cuda_external_buffer, "cudaExternalMemoryGetMappedBuffer", "libcudart.so.13", unsigned,      \
      (void **address, void *external, const struct mt_external_buffer *buffer))                   \
    H(cuda_library_load_data, "cudaLibraryLoadData", "libcudart.so.13", unsigned,                  \
      (void **library, const void *code, MT_LOAD_OPTIONS))                                         \
    H(cuda_library_load_file, "cudaLibraryLoadFromFile", "libcudart.so.13", unsigned,              \
      (void **library, const char *path, MT_LOAD_OPTIONS))                                         \
    H(cuda_free, "cudaFree", "libcudart.so.13", unsigned,                                          \
      (void *address))                                                                             \
    H(cuda_free_async, "cudaFreeAsync", "libcudart.so.13", unsigned,                               \
      (void *address, void *stream))                                                               \
    H(cuda_free_async_ptsz, "cudaFreeAsync_ptsz", "libcudart.so.13", unsigned,                     \
      (void *address, void *stream))                                                               \
    H(cuda_free_array, "cudaFreeArray", "libcudart.so.13", unsigned,                               \
      (void *array))                                                                               \
    H(cuda_free_mipmapped, "cudaFreeMipmappedArray", "libcudart.so.13", unsigned,                  \
      (void *array))                                                                               \
    H(cuda_free_host, "cudaFreeHost", "libcudart.so.13", unsigned,                                 \
      (void *address))                                                                             \
    H(cuda_host_unregister, "cudaHostUnregister", "libcudart.so.13", unsigned,                     \
      (void *address))                                                                             \
    H(cuda_ipc_close, "cudaIpcCloseMemHandle", "libcudart.so.13", unsigned,                        \
      (void *address))                                                                             \
    H(cuda_library_unload, "cudaLibraryUnload", "libcudart.so.13", unsigned,                       \
      (void *library))                                                                             \
    H(cuda_stream, "cudaStreamCreate", "libcudart.so.13", unsigned,                                \
      (void **stream))                                                                             \
    H(cuda_stream_flags, "cudaStreamCreateWithFlags", "libcudart.so.13", unsigned,                 \
      (void **stream, unsigned flags))                                                             \
    H(cuda_stream_priority, "cudaStreamCreateWithPriority", "libcudart.so.13", unsigned,           \
      (void **stream, unsigned flags, int priority))                                               \
    H(cuda_stream_destroy, "cudaStreamDestroy", "libcudart.so.13", unsigned,                       \
      (void *stream))                                                                              \
    H(cuda_device_reset, "cudaDeviceReset", "libcudart.so.13", unsigned,                           \
      (void))                                                                                      \
    H(cuda_capture, "cudaStreamBeginCapture", "libcudart.so.13", unsigned,                         \
      (void *stream, unsigned mode))                                                               \
    H(cuda_capture_ptsz, "cudaStreamBeginCapture_ptsz", "libcudart.so.13", unsigned,               \
      (void *stream, unsigned mode))                                                               \
    H(cuda_capture_end, "cudaStreamEndCapture", "libcudart.so.13", unsigned,                       \
      (void *stream, void **graph))                                                                \
    H(cuda_capture_end_ptsz, "cudaStreamEndCapture_ptsz", "libcudart.so.13", unsigned,             \
      (void *stream, void **graph))                                                                \
    H(cuda_entry_point, "cudaGetDriverEntryPoint", "libcudart.so.13", unsigned,                    \
      (const char *symbol, void **function, unsigned long long flags, unsigned *status))           \
    H(cuda_entry_point_ptsz, "cudaGetDriverEntryPoint_ptsz", "libcudart.so.13", unsigned,          \
      (const char *symbol, void **function, unsigned long long flags, unsigned *status))           \
    H(cuda_entry_point_by, "cudaGetDriverEntryPointByVersion", "libcudart.so.13", unsigned,        \
      (const char *symbol, void **function, unsigned version, unsigned long long flags,            \
       unsigned *status))                                                                          \
    H(cuda_entry_point_by_ptsz, "cudaGetDriverEntryPointByVersion_ptsz", "libcudart.so.13",        \
      unsigned,                                                                                    \
      (const char *symbol, void **function, unsigned version, unsigned long long flags,            \
       unsigned *status))
/* D(name, base, symbol, since, until, parameters): the driver's functions. base: the name that
 * cuGetProcAddress takes. since, until: the range of CUDA versions (1000 major + 10 minor; until is
 * excluded, 0: no end) whose look-ups mean this signature. A symbol that ends in _ptsz or _ptds is
 * meant if the flags ask for the thread's own default stream. All return a CUresult. */
#define MT_DRIVER_HOOKS(D)                                                                         \
    MT_DRIVER_COPY_HOOKS(D)                                                                        \
    MT_DRIVER_NOTICED_HOOKS(D)                                                                     \
    D(cu_init, "cuInit", "cuInit", 2000, 0,                                                        \
      (unsigned flags))                                                                            \
    D(cu_mem_alloc, "cuMemAlloc", "cuMemAlloc_v2", 3020, 0,                                        \
      (uint64_t *address, size_t size))                                                            \
    D(cu_mem_alloc_pitch, "cuMemAllocPitch", "cuMemAllocPitch_v2", 3020, 0,                        \
      (uint64_t *address, size_t *pitch, size_t width, size_t height, unsigned element))           \
    D(cu_mem_alloc_managed, "cuMemAllocManaged", "cuMemAllocManaged", 6000, 0,                     \
      (uint64_t *address, size_t size, unsigned flags))                                            \
    D(cu_mem_alloc_async, "cuMemAllocAsync", "cuMemAllocAsync", 11020, 0,                          \
      (uint64_t *address, size_t size, void *stream))                                              \
    D(cu_mem_alloc_async_ptsz, "cuMemAllocAsync", "cuMemAllocAsync_ptsz", 11020, 0,                \
      (uint64_t *address, size_t size, void *stream))                                              \
    D(cu_mem_alloc_from_pool, "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync", 11020, 0,      \
      (uint64_t *address, size_t size, void *pool, void *stream))                                  \
    D(cu_mem_alloc_from_pool_ptsz, "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync_ptsz",      \
      11020, 0,                                                                                    \
      (uint64_t *address, size_t size, void *pool, void *stream))                                  \
    D(cu_mem_alloc_host, "cuMemAllocHost", "cuMemAllocHost_v2", 3020, 0,                           \
      (void **address, size_t size))                                                               \
    D(cu_mem_host_alloc, "cuMemHostAlloc", "cuMemHostAlloc", 2020, 0,                              \
      (void **address, size_t size, unsigned flags))                                               \
    D(cu_mem_host_register, "cuMemHostRegister", "cuMemHostRegister_v2", 4000, 0,                  \
      (void *address, size_t size, unsigned flags))                                                \
    D(cu_array_create, "cuArrayCreate", "cuArrayCreate_v2", 3020, 0,                               \
      (void **array, const struct mt_array *wanted))                                               \
    D(cu_array_3d_create, "cuArray3DCreate", "cuArray3DCreate_v2", 3020, 0,                        \
      (void **array, const struct mt_array_3d *wanted))                                            \
    D(cu_mipmapped_create, "cuMipmappedArrayCreate", "cuMipmappedArrayCreate", 5000, 0,            \
      (void **array, const struct mt_array_3d *wanted, unsigned levels))                           \
    D(cu_mem_create, "cuMemCreate", "cuMemCreate", 10020, 0,                                       \
      (uint64_t *handle, size_t size, const struct mt_physical_properties *wanted,                            \
       unsigned long long flags))                                                                  \
    D(cu_mem_import, "cuMemImportFromShareableHandle", "cuMemImportFromShareableHandle", 10020,    \
      0,                                                                                           \
      (uint64_t *handle, void *shared, unsigned type))                                             \
    D(cu_mem_retain, "cuMemRetainAllocationHandle", "cuMemRetainAllocationHandle", 11000, 0,       \
      (uint64_t *handle, void *address))                                                           \
    D(cu_multicast_create, "cuMulticastCreate", "cuMulticastCreate", 12010, 0,                     \
      (uint64_t *object, const struct mt_multicast *wanted))                                       \
    D(cu_multicast_bind, "cuMulticastBindMem", "cuMulticastBindMem", 12010, 13010,                 \
      (uint64_t object, size_t at, uint64_t handle, size_t offset, size_t size,                    \
       unsigned long long flags))                                                                  \
    D(cu_multicast_bind_v2, "cuMulticastBindMem", "cuMulticastBindMem_v2", 13010, 0,               \
      (uint64_t object, int device, size_t at, uint64_t handle, size_t offset, size_t size,        \
       unsigned long long flags))                                                                  \
    D(cu_multicast_bind_address, "cuMulticastBindAddr", "cuMulticastBindAddr", 12010, 13010,       \
      (uint64_t object, size_t at, uint64_t address, size_t size, unsigned long long flags))       \
    D(cu_multicast_bind_address_v2, "cuMulticastBindAddr", "cuMulticastBindAddr_v2", 13010, 0,     \
      (uint64_t object, int device, size_t at, uint64_t address, size_t size,                      \
       unsigned long long flags))                                                                  \
    D(cu_multicast_unbind, "cuMulticastUnbind", "cuMulticastUnbind", 12010, 0,                     \
      (uint64_t object, int device, size_t at, size_t size))                                       \
    D(cu_mem_map, "cuMemMap", "cuMemMap", 10020, 0,                                                \
      (uint64_t address, size_t size, size_t offset, uint64_t handle, unsigned long long flags))   \
    D(cu_ipc_open, "cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2", 11000, 0,                        \
      (uint64_t *address, struct mt_ipc_handle handle, unsigned flags))                            \
    D(cu_external_buffer, "cuExternalMemoryGetMappedBuffer", "cuExternalMemoryGetMappedBuffer",    \
      10000, 0,                                                                                    \
      (uint64_t *address, void *external, const struct mt_external_buffer *buffer))                \
    D(cu_ctx_create_v2, "cuCtxCreate", "cuCtxCreate_v2", 3020, 11040,                              \
      (void **context, unsigned flags, int device))                                                \
    D(cu_ctx_create_v3, "cuCtxCreate", "cuCtxCreate_v3", 11040, 12050,                             \
      (void **context, void *affinity, int n, unsigned flags, int device))                         \
    D(cu_ctx_create_v4, "cuCtxCreate", "cuCtxCreate_v4", 12050, 0,                                 \
      (void **context, void *parameters, unsigned flags, int device))                              \
    D(cu_primary_retain, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000, 0,          \
      (void **context, int device))                                                                \
    D(cu_green_create, "cuGreenCtxCreate", "cuGreenCtxCreate", 12040, 0,                           \
      (void **context, void *resources, int device, unsigned flags))                               \
    D(cu_green_destroy, "cuGreenCtxDestroy", "cuGreenCtxDestroy", 12040, 0,                        \
      (void *context))                                                                             \
    D(cu_green_stream, "cuGreenCtxStreamCreate", "cuGreenCtxStreamCreate", 12050, 0,               \
      (void **stream, void *context, unsigned flags, int priority))                                \
    D(cu_module_load, "cuModuleLoad", "cuModuleLoad", 2000, 0,                                     \
      (void **module, const char *path))                                                           \
    D(cu_module_load_data, "cuModuleLoadData", "cuModuleLoadData", 2000, 0,                        \
      (void **module, const void *image))                                                          \
    D(cu_module_load_data_ex, "cuModuleLoadDataEx", "cuModuleLoadDataEx", 2010, 0,                 \
      (void **module, const void *image, unsigned n, void *options, void **values))                \
    D(cu_module_load_fat, "cuModuleLoadFatBinary", "cuModuleLoadFatBinary", 2000, 0,               \
      (void **module, const void *image))                                                          \
    D(cu_library_load_data, "cuLibraryLoadData", "cuLibraryLoadData", 12000, 0,                    \
      (void **library, const void *code, MT_LOAD_OPTIONS))                                         \
    D(cu_library_load_file, "cuLibraryLoadFromFile", "cuLibraryLoadFromFile", 12000, 0,            \
      (void **library, const char *path, MT_LOAD_OPTIONS))                                         \
    D(cu_mem_free, "cuMemFree", "cuMemFree_v2", 3020, 0,                                           \
      (uint64_t address))                                                                          \
    D(cu_mem_free_async, "cuMemFreeAsync", "cuMemFreeAsync", 11020, 0,                             \
      (uint64_t address, void *stream))                                                            \
    D(cu_mem_free_async_ptsz, "cuMemFreeAsync", "cuMemFreeAsync_ptsz", 11020, 0,                   \
      (uint64_t address, void *stream))                                                            \
    D(cu_mem_free_host, "cuMemFreeHost", "cuMemFreeHost", 2000, 0,                                 \
      (void *address))                                                                             \
    D(cu_mem_host_unregister, "cuMemHostUnregister", "cuMemHostUnregister", 4000, 0,               \
      (void *address))                                                                             \
    D(cu_array_destroy, "cuArrayDestroy", "cuArrayDestroy", 2000, 0,                               \
      (void *array))                                                                               \
    D(cu_mipmapped_destroy, "cuMipmappedArrayDestroy", "cuMipmappedArrayDestroy", 5000, 0,         \
      (void *array))                                                                               \
    D(cu_mem_release, "cuMemRelease", "cuMemRelease", 10020, 0,                                    \
      (uint64_t handle))                                                                           \
    D(cu_mem_unmap, "cuMemUnmap", "cuMemUnmap", 10020, 0,                                          \
      (uint64_t address, size_t size))                                                             \
    D(cu_ipc_close, "cuIpcCloseMemHandle", "cuIpcCloseMemHandle", 4010, 0,                         \
      (uint64_t address))                                                                          \
    D(cu_ctx_destroy, "cuCtxDestroy", "cuCtxDestroy_v2", 4000, 0,                                  \
      (void *context))                                                                             \
    D(cu_primary_release, "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 7000, 0,    \
      (int device))                                                                                \
    D(cu_primary_reset, "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 7000, 0,          \
      (int device))                                                                                \
    D(cu_module_unload, "cuModuleUnload", "cuModuleUnload", 2000, 0,                               \
      (void *module))                                                                              \
    D(cu_library_unload, "cuLibraryUnload", "cuLibraryUnload", 12000, 0,                           \
      (void *library))                                                                             \
    D(cu_stream_create, "cuStreamCreate", "cuStreamCreate", 2000, 0,                               \
      (void **stream, unsigned flags))                                                             \
    D(cu_stream_create_priority, "cuStreamCreateWithPriority", "cuStreamCreateWithPriority", 5050, \
      0,                                                                                           \
      (void **stream, unsigned flags, int priority))                                               \
    D(cu_stream_destroy, "cuStreamDestroy", "cuStreamDestroy_v2", 4000, 0,                         \
      (void *stream))                                                                              \
    D(cu_capture, "cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010, 0,                     \
      (void *stream, unsigned mode))                                                               \
    D(cu_capture_ptsz, "cuStreamBeginCapture", "cuStreamBeginCapture_v2_ptsz", 10010, 0,           \
      (void *stream, unsigned mode))                                                               \
    D(cu_capture_end, "cuStreamEndCapture", "cuStreamEndCapture", 10000, 0,                        \
      (void *stream, void **graph))                                                                \
    D(cu_capture_end_ptsz, "cuStreamEndCapture", "cuStreamEndCapture_ptsz", 10000, 0,              \
      (void *stream, void **graph))                                                                \
    D(cu_get_proc, "cuGetProcAddress", "cuGetProcAddress", 11030, 12000,                           \
      (const char *symbol, void **function, int version, uint64_t flags))                          \
    D(cu_get_proc_v2, "cuGetProcAddress", "cuGetProcAddress_v2", 12000, 0,                         \
      (const char *symbol, void **function, int version, uint64_t flags, unsigned *status))
/* clang-format on */

#endif
