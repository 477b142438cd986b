/* SPDX-License-Identifier: Apache-2.0 */
/* What copies and sets CUDA's memory, by the runtime and by the driver: when it is in use. */
#include "cuda-memory.h"
#include "cudart.h"
#include "driver.h"

#define NUMBER(address) ((uint64_t)(uintptr_t)(address))
#define INSIDE(...) __VA_ARGS__

/* name and its other one: for the thread's own stream. tell: what to record of a result. */
#define RUNTIME_HOOK(name, parameters, arguments, tell)                                            \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        const struct mt_cudart *runtime = mt_cudart_of(__builtin_return_address(0));               \
        unsigned result = MT_CUDART_ASK(runtime, name, INSIDE arguments);                          \
        tell;                                                                                      \
        return result;                                                                             \
    }
#define DRIVER_HOOK(name, parameters, arguments, tell)                                             \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        unsigned result = MT_DRIVER_ASK(name, INSIDE arguments);                                   \
        tell;                                                                                      \
        return result;                                                                             \
    }

#define COPIED(api, to, from, size)                                                                \
    mt_cuda_copied(MT_API_##api, result, NUMBER(to), NUMBER(from), size)
#define WAS_SET(api, at, size) mt_cuda_was_set(MT_API_##api, result, NUMBER(at), size)

#define RUNTIME_COPY(name)                                                                         \
    RUNTIME_HOOK(name, (void *to, const void *from, size_t size, unsigned kind),                   \
                 (to, from, size, kind), COPIED(CUDA_COPY, to, from, size))
RUNTIME_COPY(cuda_copy)
RUNTIME_COPY(cuda_copy_ptds)

#define RUNTIME_COPY_ASYNC(name)                                                                   \
    RUNTIME_HOOK(name, (void *to, const void *from, size_t size, unsigned kind, void *stream),     \
                 (to, from, size, kind, stream), COPIED(CUDA_COPY_ASYNC, to, from, size))
RUNTIME_COPY_ASYNC(cuda_copy_async)
RUNTIME_COPY_ASYNC(cuda_copy_async_ptsz)

#define RUNTIME_COPY_2D(name)                                                                      \
    RUNTIME_HOOK(name,                                                                             \
                 (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,    \
                  size_t height, unsigned kind),                                                   \
                 (to, to_pitch, from, from_pitch, width, height, kind),                            \
                 COPIED(CUDA_COPY_2D, to, from, width *height))
RUNTIME_COPY_2D(cuda_copy_2d)
RUNTIME_COPY_2D(cuda_copy_2d_ptds)

#define RUNTIME_COPY_2D_ASYNC(name)                                                                \
    RUNTIME_HOOK(name,                                                                             \
                 (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,    \
                  size_t height, unsigned kind, void *stream),                                     \
                 (to, to_pitch, from, from_pitch, width, height, kind, stream),                    \
                 COPIED(CUDA_COPY_2D_ASYNC, to, from, width *height))
RUNTIME_COPY_2D_ASYNC(cuda_copy_2d_async)
RUNTIME_COPY_2D_ASYNC(cuda_copy_2d_async_ptsz)

static const void *end_of_box(const void *array, const struct mt_pitched *memory)
{
    return array ? array : memory->address;
}

static void tell_box(enum mt_cuda_api api, unsigned result, const struct mt_box_copy *copy)
{
    if (!result)
        mt_cuda_copied(api, result, NUMBER(end_of_box(copy->to_array, &copy->to)),
                       NUMBER(end_of_box(copy->from_array, &copy->from)),
                       copy->extent.width * copy->extent.height * copy->extent.depth);
}

#define RUNTIME_COPY_3D(name)                                                                      \
    RUNTIME_HOOK(name, (const struct mt_box_copy *copy), (copy),                                   \
                 tell_box(MT_API_CUDA_COPY_3D, result, copy))
RUNTIME_COPY_3D(cuda_copy_3d)
RUNTIME_COPY_3D(cuda_copy_3d_ptds)

#define RUNTIME_COPY_3D_ASYNC(name)                                                                \
    RUNTIME_HOOK(name, (const struct mt_box_copy *copy, void *stream), (copy, stream),             \
                 tell_box(MT_API_CUDA_COPY_3D_ASYNC, result, copy))
RUNTIME_COPY_3D_ASYNC(cuda_copy_3d_async)
RUNTIME_COPY_3D_ASYNC(cuda_copy_3d_async_ptsz)

RUNTIME_HOOK(cuda_copy_peer,
             (void *to, int to_device, const void *from, int from_device, size_t size),
             (to, to_device, from, from_device, size), COPIED(CUDA_COPY_PEER, to, from, size))
RUNTIME_HOOK(cuda_copy_peer_async,
             (void *to, int to_device, const void *from, int from_device, size_t size,
              void *stream),
             (to, to_device, from, from_device, size, stream),
             COPIED(CUDA_COPY_PEER_ASYNC, to, from, size))

#define RUNTIME_SET(name)                                                                          \
    RUNTIME_HOOK(name, (void *at, int value, size_t size), (at, value, size),                      \
                 WAS_SET(CUDA_SET, at, size))
RUNTIME_SET(cuda_set)
RUNTIME_SET(cuda_set_ptds)

#define RUNTIME_SET_ASYNC(name)                                                                    \
    RUNTIME_HOOK(name, (void *at, int value, size_t size, void *stream),                           \
                 (at, value, size, stream), WAS_SET(CUDA_SET_ASYNC, at, size))
RUNTIME_SET_ASYNC(cuda_set_async)
RUNTIME_SET_ASYNC(cuda_set_async_ptsz)

#define RUNTIME_SET_2D(name)                                                                       \
    RUNTIME_HOOK(name, (void *at, size_t pitch, int value, size_t width, size_t height),           \
                 (at, pitch, value, width, height), WAS_SET(CUDA_SET_2D, at, width *height))
RUNTIME_SET_2D(cuda_set_2d)
RUNTIME_SET_2D(cuda_set_2d_ptds)

#define RUNTIME_SET_2D_ASYNC(name)                                                                 \
    RUNTIME_HOOK(                                                                                  \
        name, (void *at, size_t pitch, int value, size_t width, size_t height, void *stream),      \
        (at, pitch, value, width, height, stream), WAS_SET(CUDA_SET_2D_ASYNC, at, width *height))
RUNTIME_SET_2D_ASYNC(cuda_set_2d_async)
RUNTIME_SET_2D_ASYNC(cuda_set_2d_async_ptsz)

#define RUNTIME_SET_3D(name)                                                                       \
    RUNTIME_HOOK(name, (struct mt_pitched at, int value, struct mt_extent extent),                 \
                 (at, value, extent),                                                              \
                 WAS_SET(CUDA_SET_3D, at.address, extent.width *extent.height *extent.depth))
RUNTIME_SET_3D(cuda_set_3d)
RUNTIME_SET_3D(cuda_set_3d_ptds)

#define RUNTIME_SET_3D_ASYNC(name)                                                                 \
    RUNTIME_HOOK(                                                                                  \
        name, (struct mt_pitched at, int value, struct mt_extent extent, void *stream),            \
        (at, value, extent, stream),                                                               \
        WAS_SET(CUDA_SET_3D_ASYNC, at.address, extent.width *extent.height *extent.depth))
RUNTIME_SET_3D_ASYNC(cuda_set_3d_async)
RUNTIME_SET_3D_ASYNC(cuda_set_3d_async_ptsz)

/* Each also as the other one's, for the thread's own stream, and in the order of a stream. */
#define DRIVER_FOUR(name, api, parameters, arguments, tell)                                        \
    DRIVER_HOOK(name, (INSIDE parameters), arguments, tell(api))                                   \
    DRIVER_HOOK(name##_ptds, (INSIDE parameters), arguments, tell(api))                            \
    DRIVER_HOOK(name##_async, (INSIDE parameters, void *stream), (INSIDE arguments, stream),       \
                tell(api##_ASYNC))                                                                 \
    DRIVER_HOOK(name##_async_ptsz, (INSIDE parameters, void *stream), (INSIDE arguments, stream),  \
                tell(api##_ASYNC))

#define TELL_COPY(api) COPIED(api, to, from, size)
DRIVER_FOUR(cu_copy, CU_COPY, (uint64_t to, uint64_t from, size_t size), (to, from, size),
            TELL_COPY)
DRIVER_FOUR(cu_copy_in, CU_COPY_IN, (uint64_t to, const void *from, size_t size), (to, from, size),
            TELL_COPY)
DRIVER_FOUR(cu_copy_out, CU_COPY_OUT, (void *to, uint64_t from, size_t size), (to, from, size),
            TELL_COPY)
DRIVER_FOUR(cu_copy_within, CU_COPY_WITHIN, (uint64_t to, uint64_t from, size_t size),
            (to, from, size), TELL_COPY)
DRIVER_FOUR(cu_copy_peer, CU_COPY_PEER,
            (uint64_t to, void *to_context, uint64_t from, void *from_context, size_t size),
            (to, to_context, from, from_context, size), TELL_COPY)

/* An end of a copy lies where its sort of memory says. */
#define END_OF(end)                                                                                \
    ((end)->memory == MT_MEMORY_HOST    ? NUMBER((end)->host)                                      \
     : (end)->memory == MT_MEMORY_ARRAY ? NUMBER((end)->array)                                     \
                                        : (uint64_t)(end)->device)

static void tell_flat(enum mt_cuda_api api, unsigned result, const struct mt_flat_copy *copy)
{
    if (!result)
        mt_cuda_copied(api, result, END_OF(&copy->to), END_OF(&copy->from),
                       copy->width * copy->height);
}

static void tell_deep(enum mt_cuda_api api, unsigned result, const struct mt_deep_copy *copy)
{
    if (!result)
        mt_cuda_copied(api, result, END_OF(&copy->to), END_OF(&copy->from),
                       copy->width * copy->height * copy->depth);
}

#define TELL_FLAT(api) tell_flat(MT_API_##api, result, copy)
#define TELL_DEEP(api) tell_deep(MT_API_##api, result, copy)
DRIVER_FOUR(cu_copy_2d, CU_COPY_2D, (const struct mt_flat_copy *copy), (copy), TELL_FLAT)
DRIVER_HOOK(cu_copy_2d_unaligned, (const struct mt_flat_copy *copy), (copy),
            TELL_FLAT(CU_COPY_2D_UNALIGNED))
DRIVER_HOOK(cu_copy_2d_unaligned_ptds, (const struct mt_flat_copy *copy), (copy),
            TELL_FLAT(CU_COPY_2D_UNALIGNED))
DRIVER_FOUR(cu_copy_3d, CU_COPY_3D, (const struct mt_deep_copy *copy), (copy), TELL_DEEP)

#define TELL_SET(api) WAS_SET(api, at, n * sizeof value)
DRIVER_FOUR(cu_set_8, CU_SET_8, (uint64_t at, unsigned char value, size_t n), (at, value, n),
            TELL_SET)
DRIVER_FOUR(cu_set_16, CU_SET_16, (uint64_t at, unsigned short value, size_t n), (at, value, n),
            TELL_SET)
DRIVER_FOUR(cu_set_32, CU_SET_32, (uint64_t at, unsigned value, size_t n), (at, value, n), TELL_SET)

#define TELL_SET_2D(api) WAS_SET(api, at, width *height * sizeof value)
DRIVER_FOUR(cu_set_2d_8, CU_SET_2D_8,
            (uint64_t at, size_t pitch, unsigned char value, size_t width, size_t height),
            (at, pitch, value, width, height), TELL_SET_2D)
DRIVER_FOUR(cu_set_2d_16, CU_SET_2D_16,
            (uint64_t at, size_t pitch, unsigned short value, size_t width, size_t height),
            (at, pitch, value, width, height), TELL_SET_2D)
DRIVER_FOUR(cu_set_2d_32, CU_SET_2D_32,
            (uint64_t at, size_t pitch, unsigned value, size_t width, size_t height),
            (at, pitch, value, width, height), TELL_SET_2D)
