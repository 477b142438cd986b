/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime's memory. Each hook asks the runtime that its caller is linked to. */
#include "cuda-memory.h"
#include "cuda-sizes.h"
#include "cudart.h"
#include "driver.h"
#include "preload/hooks/hooks.h"

#define ASK MT_CUDART_ASK
#define RUNTIME() mt_cudart_of(__builtin_return_address(0))

static struct mt_cuda_call call_of(enum mt_cuda_api api, const struct mt_cudart *runtime)
{
    return mt_cuda_call_of(api, runtime ? runtime->get_device : NULL);
}

unsigned mt_hook_cuda_malloc(void **address, size_t size)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_malloc, address, size);
    mt_cuda_allocated(call_of(MT_API_CUDA_MALLOC, runtime), result, address, size);
    mt_pool_took(result, address, __builtin_return_address(0));
    return result;
}

unsigned mt_hook_cuda_malloc_managed(void **address, size_t size, unsigned flags)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_malloc_managed, address, size, flags);
    mt_cuda_allocated(call_of(MT_API_CUDA_MALLOC_MANAGED, runtime), result, address, size);
    return result;
}

/* Functions with the suffix _ptsz use the thread's own stream for stream 0. */
#define HOOK_ALLOC_ASYNC(name)                                                                     \
    unsigned mt_hook_##name(void **address, size_t size, void *stream)                             \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        unsigned result = ASK(runtime, name, address, size, stream);                               \
        mt_cuda_allocated_async(call_of(MT_API_CUDA_MALLOC_ASYNC, runtime), result, address, size, \
                                stream);                                                           \
        return result;                                                                             \
    }
HOOK_ALLOC_ASYNC(cuda_malloc_async)
HOOK_ALLOC_ASYNC(cuda_malloc_async_ptsz)

#define HOOK_ALLOC_FROM_POOL(name)                                                                 \
    unsigned mt_hook_##name(void **address, size_t size, void *pool, void *stream)                 \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        unsigned result = ASK(runtime, name, address, size, pool, stream);                         \
        mt_cuda_allocated_async(call_of(MT_API_CUDA_MALLOC_FROM_POOL_ASYNC, runtime), result,      \
                                address, size, stream);                                            \
        return result;                                                                             \
    }
HOOK_ALLOC_FROM_POOL(cuda_malloc_from_pool)
HOOK_ALLOC_FROM_POOL(cuda_malloc_from_pool_ptsz)

unsigned mt_hook_cuda_malloc_pitch(void **address, size_t *pitch, size_t width, size_t height)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_malloc_pitch, address, pitch, width, height);
    mt_cuda_allocated(call_of(MT_API_CUDA_MALLOC_PITCH, runtime), result, address,
                      result ? width * height : *pitch * height);
    return result;
}

unsigned mt_hook_cuda_malloc_3d(struct mt_pitched *out, struct mt_extent extent)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_malloc_3d, out, extent);
    mt_cuda_allocated(call_of(MT_API_CUDA_MALLOC_3D, runtime), result, &out->address,
                      (result ? extent.width : out->pitch) * extent.height * extent.depth);
    return result;
}

unsigned mt_hook_cuda_malloc_array(void **array, const struct mt_texel *texel, size_t width,
                                   size_t height, unsigned flags)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_malloc_array, array, texel, width, height, flags);
    mt_cuda_allocated(call_of(MT_API_CUDA_MALLOC_ARRAY, runtime), result, array,
                      mt_cuda_array_bytes(texel, (struct mt_extent){width, height, 0}, 1));
    return result;
}

unsigned mt_hook_cuda_malloc_3d_array(void **array, const struct mt_texel *texel,
                                      struct mt_extent extent, unsigned flags)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_malloc_3d_array, array, texel, extent, flags);
    mt_cuda_allocated(call_of(MT_API_CUDA_MALLOC_3D_ARRAY, runtime), result, array,
                      mt_cuda_array_bytes(texel, extent, 1));
    return result;
}

unsigned mt_hook_cuda_malloc_mipmapped(void **array, const struct mt_texel *texel,
                                       struct mt_extent extent, unsigned levels, unsigned flags)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_malloc_mipmapped, array, texel, extent, levels, flags);
    mt_cuda_allocated(call_of(MT_API_CUDA_MALLOC_MIPMAPPED_ARRAY, runtime), result, array,
                      mt_cuda_array_bytes(texel, extent, levels));
    return result;
}

unsigned mt_hook_cuda_malloc_host(void **address, size_t size)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_malloc_host, address, size);
    mt_cuda_allocated(call_of(MT_API_CUDA_MALLOC_HOST, runtime), result, address, size);
    return result;
}

unsigned mt_hook_cuda_host_alloc(void **address, size_t size, unsigned flags)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_host_alloc, address, size, flags);
    mt_cuda_allocated(call_of(MT_API_CUDA_HOST_ALLOC, runtime), result, address, size);
    return result;
}

unsigned mt_hook_cuda_host_register(void *address, size_t size, unsigned flags)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_host_register, address, size, flags);
    mt_cuda_allocated(call_of(MT_API_CUDA_HOST_REGISTER, runtime), result, &address, size);
    return result;
}

/* Record memory of another process. Only its owner knows its size. */
unsigned mt_hook_cuda_ipc_open(void **address, struct mt_ipc_handle handle, unsigned flags)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_ipc_open, address, handle, flags);
    mt_cuda_allocated(call_of(MT_API_CUDA_IPC_OPEN, runtime), result, address, 0);
    return result;
}

unsigned mt_hook_cuda_external_buffer(void **address, void *external,
                                      const struct mt_external_buffer *buffer)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_external_buffer, address, external, buffer);
    mt_cuda_allocated(call_of(MT_API_CUDA_EXTERNAL_BUFFER, runtime), result, address,
                      result ? 0 : buffer->size);
    return result;
}

unsigned mt_hook_cuda_library_load_data(void **library, const void *code, void *options,
                                        void **values, unsigned n, void *library_options,
                                        void **library_values, unsigned n_library)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_library_load_data, library, code, options, values, n,
                          library_options, library_values, n_library);
    mt_cuda_object_made(call_of(MT_API_CUDA_LIBRARY_LOAD_DATA, runtime), result, library,
                        result ? 0 : mt_cuda_image_bytes(code));
    return result;
}

unsigned mt_hook_cuda_library_load_file(void **library, const char *path, void *options,
                                        void **values, unsigned n, void *library_options,
                                        void **library_values, unsigned n_library)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = ASK(runtime, cuda_library_load_file, library, path, options, values, n,
                          library_options, library_values, n_library);
    mt_cuda_object_made(call_of(MT_API_CUDA_LIBRARY_LOAD_FILE, runtime), result, library,
                        result ? 0 : mt_cuda_file_bytes(path));
    return result;
}

#define HOOK_FREE(name, api)                                                                       \
    unsigned mt_hook_##name(void *address)                                                         \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        struct mt_cuda_free free =                                                                 \
            mt_cuda_freeing(call_of(api, runtime), (uint64_t)(uintptr_t)address);                  \
        unsigned result = ASK(runtime, name, address);                                             \
        mt_cuda_freed(&free, result);                                                              \
        return result;                                                                             \
    }
HOOK_FREE(cuda_free, MT_API_CUDA_FREE)
HOOK_FREE(cuda_free_array, MT_API_CUDA_FREE_ARRAY)
HOOK_FREE(cuda_free_mipmapped, MT_API_CUDA_FREE_MIPMAPPED_ARRAY)
HOOK_FREE(cuda_free_host, MT_API_CUDA_FREE_HOST)
HOOK_FREE(cuda_host_unregister, MT_API_CUDA_HOST_UNREGISTER)
HOOK_FREE(cuda_ipc_close, MT_API_CUDA_IPC_CLOSE)

#define HOOK_FREE_ASYNC(name)                                                                      \
    unsigned mt_hook_##name(void *address, void *stream)                                           \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        struct mt_cuda_free free = mt_cuda_freeing_async(call_of(MT_API_CUDA_FREE_ASYNC, runtime), \
                                                         (uint64_t)(uintptr_t)address, stream);    \
        unsigned result = ASK(runtime, name, address, stream);                                     \
        mt_cuda_freed(&free, result);                                                              \
        return result;                                                                             \
    }
HOOK_FREE_ASYNC(cuda_free_async)
HOOK_FREE_ASYNC(cuda_free_async_ptsz)

unsigned mt_hook_cuda_library_unload(void *library)
{
    const struct mt_cudart *runtime = RUNTIME();
    mt_cuda_object_ending(call_of(MT_API_CUDA_LIBRARY_UNLOAD, runtime),
                          (uint64_t)(uintptr_t)library);
    return ASK(runtime, cuda_library_unload, library);
}

#define HOOK_STREAM(name, api, parameters, ...)                                                    \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        unsigned result = ASK(runtime, name, __VA_ARGS__);                                         \
        mt_cuda_object_made(call_of(api, runtime), result, stream, 0);                             \
        return result;                                                                             \
    }
HOOK_STREAM(cuda_stream, MT_API_CUDA_STREAM_CREATE, (void **stream), stream)
HOOK_STREAM(cuda_stream_flags, MT_API_CUDA_STREAM_CREATE_WITH_FLAGS,
            (void **stream, unsigned flags), stream, flags)
HOOK_STREAM(cuda_stream_priority, MT_API_CUDA_STREAM_CREATE_WITH_PRIORITY,
            (void **stream, unsigned flags, int priority), stream, flags, priority)

unsigned mt_hook_cuda_stream_destroy(void *stream)
{
    const struct mt_cudart *runtime = RUNTIME();
    mt_cuda_object_ending(call_of(MT_API_CUDA_STREAM_DESTROY, runtime),
                          (uint64_t)(uintptr_t)stream);
    return ASK(runtime, cuda_stream_destroy, stream);
}

/* Free all memory of the process on the caller's device. */
unsigned mt_hook_cuda_device_reset(void)
{
    const struct mt_cudart *runtime = RUNTIME();
    mt_cuda_object_ending(call_of(MT_API_CUDA_DEVICE_RESET, runtime), 0);
    return ASK(runtime, cuda_device_reset);
}

/* PyTorch and others ask the runtime for driver functions: they get our hooks (driver.h). */
#define HOOK_ENTRY_POINT(name)                                                                     \
    unsigned mt_hook_##name(const char *symbol, void **function, unsigned long long flags,         \
                            unsigned *status)                                                      \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        unsigned result = ASK(runtime, name, symbol, function, flags, status);                     \
        if (!result)                                                                               \
            mt_driver_wrap(symbol, MT_CUDA_ANY_VERSION, flags, function);                          \
        return result;                                                                             \
    }
HOOK_ENTRY_POINT(cuda_entry_point)
HOOK_ENTRY_POINT(cuda_entry_point_ptsz)

#define HOOK_ENTRY_POINT_BY_VERSION(name)                                                          \
    unsigned mt_hook_##name(const char *symbol, void **function, unsigned version,                 \
                            unsigned long long flags, unsigned *status)                            \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        unsigned result = ASK(runtime, name, symbol, function, version, flags, status);            \
        if (!result)                                                                               \
            mt_driver_wrap(symbol, version, flags, function);                                      \
        return result;                                                                             \
    }
HOOK_ENTRY_POINT_BY_VERSION(cuda_entry_point_by)
HOOK_ENTRY_POINT_BY_VERSION(cuda_entry_point_by_ptsz)
