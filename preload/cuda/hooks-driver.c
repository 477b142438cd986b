/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver's memory, for a statically linked runtime, NCCL and PyTorch's expandable
 * segments. */
#include "cuda-memory.h"
#include "cuda-sizes.h"
#include "driver.h"

#define ASK MT_DRIVER_ASK

static struct mt_cuda_call call_of(enum mt_cuda_api api)
{
    return mt_cuda_call_of(api, mt_driver_get_device());
}

unsigned mt_hook_cu_mem_alloc(uint64_t *address, size_t size)
{
    unsigned result = ASK(cu_mem_alloc, address, size);
    mt_cuda_allocated(call_of(MT_API_CU_MEM_ALLOC), result, address, size);
    return result;
}

unsigned mt_hook_cu_mem_alloc_pitch(uint64_t *address, size_t *pitch, size_t width, size_t height,
                                    unsigned element)
{
    unsigned result = ASK(cu_mem_alloc_pitch, address, pitch, width, height, element);
    mt_cuda_allocated(call_of(MT_API_CU_MEM_ALLOC_PITCH), result, address,
                      (result ? width : *pitch) * height);
    return result;
}

unsigned mt_hook_cu_mem_alloc_managed(uint64_t *address, size_t size, unsigned flags)
{
    unsigned result = ASK(cu_mem_alloc_managed, address, size, flags);
    mt_cuda_allocated(call_of(MT_API_CU_MEM_ALLOC_MANAGED), result, address, size);
    return result;
}

/* Functions with the suffix _ptsz use the thread's own stream for stream 0. */
#define HOOK_ALLOC_ASYNC(name)                                                                     \
    unsigned mt_hook_##name(uint64_t *address, size_t size, void *stream)                          \
    {                                                                                              \
        unsigned result = ASK(name, address, size, stream);                                        \
        mt_cuda_allocated_async(call_of(MT_API_CU_MEM_ALLOC_ASYNC), result, address, size,         \
                                stream);                                                           \
        return result;                                                                             \
    }
HOOK_ALLOC_ASYNC(cu_mem_alloc_async)
HOOK_ALLOC_ASYNC(cu_mem_alloc_async_ptsz)

#define HOOK_ALLOC_FROM_POOL(name)                                                                 \
    unsigned mt_hook_##name(uint64_t *address, size_t size, void *pool, void *stream)              \
    {                                                                                              \
        unsigned result = ASK(name, address, size, pool, stream);                                  \
        mt_cuda_allocated_async(call_of(MT_API_CU_MEM_ALLOC_FROM_POOL_ASYNC), result, address,     \
                                size, stream);                                                     \
        return result;                                                                             \
    }
HOOK_ALLOC_FROM_POOL(cu_mem_alloc_from_pool)
HOOK_ALLOC_FROM_POOL(cu_mem_alloc_from_pool_ptsz)

unsigned mt_hook_cu_mem_alloc_host(void **address, size_t size)
{
    unsigned result = ASK(cu_mem_alloc_host, address, size);
    mt_cuda_allocated(call_of(MT_API_CU_MEM_ALLOC_HOST), result, address, size);
    return result;
}

unsigned mt_hook_cu_mem_host_alloc(void **address, size_t size, unsigned flags)
{
    unsigned result = ASK(cu_mem_host_alloc, address, size, flags);
    mt_cuda_allocated(call_of(MT_API_CU_MEM_HOST_ALLOC), result, address, size);
    return result;
}

unsigned mt_hook_cu_mem_host_register(void *address, size_t size, unsigned flags)
{
    unsigned result = ASK(cu_mem_host_register, address, size, flags);
    mt_cuda_allocated(call_of(MT_API_CU_MEM_HOST_REGISTER), result, &address, size);
    return result;
}

unsigned mt_hook_cu_array_create(void **array, const struct mt_array *wanted)
{
    unsigned result = ASK(cu_array_create, array, wanted);
    mt_cuda_allocated(call_of(MT_API_CU_ARRAY_CREATE), result, array, mt_cuda_flat_bytes(wanted));
    return result;
}

unsigned mt_hook_cu_array_3d_create(void **array, const struct mt_array_3d *wanted)
{
    unsigned result = ASK(cu_array_3d_create, array, wanted);
    mt_cuda_allocated(call_of(MT_API_CU_ARRAY_3D_CREATE), result, array,
                      mt_cuda_deep_bytes(wanted, 1));
    return result;
}

unsigned mt_hook_cu_mipmapped_create(void **array, const struct mt_array_3d *wanted,
                                     unsigned levels)
{
    unsigned result = ASK(cu_mipmapped_create, array, wanted, levels);
    mt_cuda_allocated(call_of(MT_API_CU_MIPMAPPED_ARRAY_CREATE), result, array,
                      mt_cuda_deep_bytes(wanted, levels));
    return result;
}

unsigned mt_hook_cu_mem_create(uint64_t *handle, size_t size,
                               const struct mt_physical_properties *wanted,
                               unsigned long long flags)
{
    struct mt_cuda_call call = call_of(MT_API_CU_MEM_CREATE);
    if (wanted && wanted->location_type == MT_LOCATION_DEVICE)
        call.told = wanted->location + 1; /* it needs no context */
    unsigned result = ASK(cu_mem_create, handle, size, wanted, flags);
    mt_cuda_allocated(call, result, handle, size);
    mt_pool_took(result, handle, __builtin_return_address(0));
    return result;
}

/* Record memory of another process. Only its owner knows its size. */
unsigned mt_hook_cu_mem_import(uint64_t *handle, void *shared, unsigned type)
{
    unsigned result = ASK(cu_mem_import, handle, shared, type);
    mt_cuda_allocated(call_of(MT_API_CU_MEM_IMPORT), result, handle, 0);
    return result;
}

/* Record another handle to existing memory: it takes another release. */
unsigned mt_hook_cu_mem_retain(uint64_t *handle, void *address)
{
    unsigned result = ASK(cu_mem_retain, handle, address);
    mt_cuda_allocated(call_of(MT_API_CU_MEM_RETAIN), result, handle, 0);
    return result;
}

unsigned mt_hook_cu_mem_map(uint64_t address, size_t size, size_t offset, uint64_t handle,
                            unsigned long long flags)
{
    unsigned result = ASK(cu_mem_map, address, size, offset, handle, flags);
    mt_cuda_mapped(call_of(MT_API_CU_MEM_MAP), result, address, size, handle);
    return result;
}

unsigned mt_hook_cu_ipc_open(uint64_t *address, struct mt_ipc_handle handle, unsigned flags)
{
    unsigned result = ASK(cu_ipc_open, address, handle, flags);
    mt_cuda_allocated(call_of(MT_API_CU_IPC_OPEN), result, address, 0);
    return result;
}

unsigned mt_hook_cu_external_buffer(uint64_t *address, void *external,
                                    const struct mt_external_buffer *buffer)
{
    unsigned result = ASK(cu_external_buffer, address, external, buffer);
    mt_cuda_allocated(call_of(MT_API_CU_EXTERNAL_BUFFER), result, address,
                      result ? 0 : buffer->size);
    return result;
}

/* A context of the device that the call names. */
#define HOOK_CONTEXT(name, which, parameters, device, object, ...)                                 \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        unsigned result = ASK(name, object, __VA_ARGS__);                                          \
        mt_cuda_object_made((struct mt_cuda_call){.api = (which), .told = (device) + 1}, result,   \
                            object, 0);                                                            \
        return result;                                                                             \
    }
HOOK_CONTEXT(cu_ctx_create_v2, MT_API_CU_CTX_CREATE, (void **context, unsigned flags, int device),
             device, context, flags, device)
HOOK_CONTEXT(cu_ctx_create_v3, MT_API_CU_CTX_CREATE,
             (void **context, void *affinity, int n, unsigned flags, int device), device, context,
             affinity, n, flags, device)
HOOK_CONTEXT(cu_ctx_create_v4, MT_API_CU_CTX_CREATE,
             (void **context, void *parameters, unsigned flags, int device), device, context,
             parameters, flags, device)
HOOK_CONTEXT(cu_primary_retain, MT_API_CU_PRIMARY_CTX_RETAIN, (void **context, int device), device,
             context, device)
HOOK_CONTEXT(cu_green_create, MT_API_CU_GREEN_CTX_CREATE,
             (void **context, void *resources, int device, unsigned flags), device, context,
             resources, device, flags)

/* bytes: of its code, evaluated after a successful call. */
#define HOOK_MADE(name, api, parameters, bytes, object, ...)                                       \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        unsigned result = ASK(name, object, __VA_ARGS__);                                          \
        mt_cuda_object_made(call_of(api), result, object, result ? 0 : bytes);                     \
        return result;                                                                             \
    }
HOOK_MADE(cu_module_load, MT_API_CU_MODULE_LOAD, (void **module, const char *path),
          mt_cuda_file_bytes(path), module, path)
HOOK_MADE(cu_module_load_data, MT_API_CU_MODULE_LOAD_DATA, (void **module, const void *image),
          mt_cuda_image_bytes(image), module, image)
HOOK_MADE(cu_module_load_data_ex, MT_API_CU_MODULE_LOAD_DATA_EX,
          (void **module, const void *image, unsigned n, void *options, void **values),
          mt_cuda_image_bytes(image), module, image, n, options, values)
HOOK_MADE(cu_module_load_fat, MT_API_CU_MODULE_LOAD_FAT_BINARY, (void **module, const void *image),
          mt_cuda_image_bytes(image), module, image)
HOOK_MADE(cu_library_load_data, MT_API_CU_LIBRARY_LOAD_DATA,
          (void **library, const void *code, void *options, void **values, unsigned n,
           void *library_options, void **library_values, unsigned n_library),
          mt_cuda_image_bytes(code), library, code, options, values, n, library_options,
          library_values, n_library)
HOOK_MADE(cu_library_load_file, MT_API_CU_LIBRARY_LOAD_FILE,
          (void **library, const char *path, void *options, void **values, unsigned n,
           void *library_options, void **library_values, unsigned n_library),
          mt_cuda_file_bytes(path), library, path, options, values, n, library_options,
          library_values, n_library)
HOOK_MADE(cu_stream_create, MT_API_CU_STREAM_CREATE, (void **stream, unsigned flags), 0, stream,
          flags)
HOOK_MADE(cu_stream_create_priority, MT_API_CU_STREAM_CREATE_WITH_PRIORITY,
          (void **stream, unsigned flags, int priority), 0, stream, flags, priority)
HOOK_MADE(cu_green_stream, MT_API_CU_GREEN_STREAM_CREATE,
          (void **stream, void *context, unsigned flags, int priority), 0, stream, context, flags,
          priority)

#define HOOK_FREE(name, api, type)                                                                 \
    unsigned mt_hook_##name(type address)                                                          \
    {                                                                                              \
        struct mt_cuda_free free = mt_cuda_freeing(call_of(api), (uint64_t)address);               \
        unsigned result = ASK(name, address);                                                      \
        mt_cuda_freed(&free, result);                                                              \
        return result;                                                                             \
    }
HOOK_FREE(cu_mem_free, MT_API_CU_MEM_FREE, uint64_t)
HOOK_FREE(cu_mem_free_host, MT_API_CU_MEM_FREE_HOST, void *)
HOOK_FREE(cu_mem_host_unregister, MT_API_CU_MEM_HOST_UNREGISTER, void *)
HOOK_FREE(cu_array_destroy, MT_API_CU_ARRAY_DESTROY, void *)
HOOK_FREE(cu_mipmapped_destroy, MT_API_CU_MIPMAPPED_ARRAY_DESTROY, void *)
HOOK_FREE(cu_mem_release, MT_API_CU_MEM_RELEASE, uint64_t)
HOOK_FREE(cu_ipc_close, MT_API_CU_IPC_CLOSE, uint64_t)

#define HOOK_FREE_ASYNC(name)                                                                      \
    unsigned mt_hook_##name(uint64_t address, void *stream)                                        \
    {                                                                                              \
        struct mt_cuda_free free =                                                                 \
            mt_cuda_freeing_async(call_of(MT_API_CU_MEM_FREE_ASYNC), address, stream);             \
        unsigned result = ASK(name, address, stream);                                              \
        mt_cuda_freed(&free, result);                                                              \
        return result;                                                                             \
    }
HOOK_FREE_ASYNC(cu_mem_free_async)
HOOK_FREE_ASYNC(cu_mem_free_async_ptsz)

unsigned mt_hook_cu_mem_unmap(uint64_t address, size_t size)
{
    mt_cuda_unmapping(call_of(MT_API_CU_MEM_UNMAP), address, size);
    return ASK(cu_mem_unmap, address, size);
}

#define HOOK_ENDING(name, api, type)                                                               \
    unsigned mt_hook_##name(type handle)                                                           \
    {                                                                                              \
        mt_cuda_object_ending(call_of(api), (uint64_t)handle);                                     \
        return ASK(name, handle);                                                                  \
    }
HOOK_ENDING(cu_ctx_destroy, MT_API_CU_CTX_DESTROY, void *)
HOOK_ENDING(cu_primary_release, MT_API_CU_PRIMARY_CTX_RELEASE, int)
HOOK_ENDING(cu_primary_reset, MT_API_CU_PRIMARY_CTX_RESET, int)
HOOK_ENDING(cu_green_destroy, MT_API_CU_GREEN_CTX_DESTROY, void *)
HOOK_ENDING(cu_module_unload, MT_API_CU_MODULE_UNLOAD, void *)
HOOK_ENDING(cu_library_unload, MT_API_CU_LIBRARY_UNLOAD, void *)
HOOK_ENDING(cu_stream_destroy, MT_API_CU_STREAM_DESTROY, void *)

unsigned mt_hook_cu_get_proc(const char *symbol, void **function, int version, uint64_t flags)
{
    unsigned result = ASK(cu_get_proc, symbol, function, version, flags);
    if (!result)
        mt_driver_wrap(symbol, (unsigned)version, flags, function);
    return result;
}

unsigned mt_hook_cu_get_proc_v2(const char *symbol, void **function, int version, uint64_t flags,
                                unsigned *status)
{
    unsigned result = ASK(cu_get_proc_v2, symbol, function, version, flags, status);
    if (!result)
        mt_driver_wrap(symbol, (unsigned)version, flags, function);
    return result;
}
