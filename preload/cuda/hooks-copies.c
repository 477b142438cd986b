/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of hooks-copies.h, made from its rows: they record uses of CUDA's memory. */
#include "cuda-memory.h"
#include "cudart.h"
#include "driver.h"

#define NUMBER(address) ((uint64_t)(uintptr_t)(address))

/* What a row records of its call: */
#define COPIED(api, to, from, size)                                                                \
    mt_cuda_copied(MT_API_##api, result, NUMBER(to), NUMBER(from), size)
#define COPIED_BOX(api) copied_box(MT_API_##api, result, copy)
#define COPIED_FLAT(api) copied_flat(MT_API_##api, result, copy)
#define COPIED_DEEP(api) copied_deep(MT_API_##api, result, copy)
#define WAS_SET(api, at, size) mt_cuda_was_set(MT_API_##api, result, NUMBER(at), size)
#define WAS_SET_BOX(api) WAS_SET(api, at.address, extent.width *extent.height *extent.depth)

static const void *end_of_box(const void *array, const struct mt_pitched *memory)
{
    return array ? array : memory->address;
}

static void copied_box(enum mt_cuda_api api, unsigned result, const struct mt_box_copy *copy)
{
    if (!result)
        mt_cuda_copied(api, result, NUMBER(end_of_box(copy->to_array, &copy->to)),
                       NUMBER(end_of_box(copy->from_array, &copy->from)),
                       copy->extent.width * copy->extent.height * copy->extent.depth);
}

/* The address of one end of a driver's copy, by its kind of memory. */
#define END_OF(end)                                                                                \
    ((end)->memory == MT_MEMORY_HOST    ? NUMBER((end)->host)                                      \
     : (end)->memory == MT_MEMORY_ARRAY ? NUMBER((end)->array)                                     \
                                        : (uint64_t)(end)->device)

static void copied_flat(enum mt_cuda_api api, unsigned result, const struct mt_flat_copy *copy)
{
    if (!result)
        mt_cuda_copied(api, result, END_OF(&copy->to), END_OF(&copy->from),
                       copy->width * copy->height);
}

static void copied_deep(enum mt_cuda_api api, unsigned result, const struct mt_deep_copy *copy)
{
    if (!result)
        mt_cuda_copied(api, result, END_OF(&copy->to), END_OF(&copy->from),
                       copy->width * copy->height * copy->depth);
}

#define RUNTIME_HOOK(unused, name, symbol, parameters, arguments, record)                          \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        const struct mt_cudart *runtime = mt_cudart_of(__builtin_return_address(0));               \
        unsigned result = MT_CUDART_ASK(runtime, name, MT_WITHOUT_PARENTHESES arguments);          \
        record;                                                                                    \
        return result;                                                                             \
    }
#define RUNTIME_HOOKS(unused, name, suffix, symbol, second, parameters, arguments, record)         \
    RUNTIME_HOOK(, name, symbol, parameters, arguments, record)                                    \
    RUNTIME_HOOK(, name##_##suffix, second, parameters, arguments, record)
MT_CUDART_COPIES(RUNTIME_HOOKS, RUNTIME_HOOK, )

#define DRIVER_HOOK(name, parameters, arguments, record)                                           \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        unsigned result = MT_DRIVER_ASK(name, MT_WITHOUT_PARENTHESES arguments);                   \
        record;                                                                                    \
        return result;                                                                             \
    }
#define DRIVER_HOOKS(unused, name, base, symbol, second, since, parameters, arguments, record)     \
    DRIVER_HOOK(name, parameters, arguments, record)                                               \
    DRIVER_HOOK(name##_ptds, parameters, arguments, record)
#define ASYNC_HOOKS(unused, name, base, symbol, second, since, parameters, arguments, record)      \
    DRIVER_HOOK(name##_async, MT_AND_STREAM(parameters),                                           \
                (MT_WITHOUT_PARENTHESES arguments, stream), record)                                \
    DRIVER_HOOK(name##_async_ptsz, MT_AND_STREAM(parameters),                                      \
                (MT_WITHOUT_PARENTHESES arguments, stream), record)
MT_DRIVER_COPIES(DRIVER_HOOKS, ASYNC_HOOKS, )
