/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of the CUDA runtime. Each calls the runtime that its caller is linked to. */
#include "cudart.h"
#include "driver.h"
#include "hook-records.h"

#define RUNTIME() mt_cudart_of(__builtin_return_address(0))
#define CALL_OF(api) mt_cuda_call_of(api, runtime ? runtime->get_device : NULL)

#define BEFORE_COPIED_BOX(api)
#define AFTER_COPIED_BOX(api) copied_box(MT_API_##api, result, copy)
#define BEFORE_WAS_SET_BOX(api)
#define AFTER_WAS_SET_BOX(api)                                                                     \
    AFTER_WAS_SET(api, at.address, extent.width *extent.height *extent.depth)

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

#define HOOK(unused, name, symbol, parameters, arguments, record)                                  \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        BEFORE_##record;                                                                           \
        unsigned result = MT_CUDART_CALL(runtime, name, MT_WITHOUT_PARENTHESES arguments);         \
        NOTE_CALLER();                                                                             \
        AFTER_##record;                                                                            \
        return result;                                                                             \
    }
#define HOOKS(unused, name, suffix, symbol, second, parameters, arguments, record)                 \
    HOOK(, name, symbol, parameters, arguments, record)                                            \
    HOOK(, name##_##suffix, second, parameters, arguments, record)
MT_CUDART_COPIES(HOOKS, HOOK, )
MT_CUDART_MEMORY(HOOKS, HOOK, )

unsigned mt_hook_cuda_malloc(void **address, size_t size)
{
    const struct mt_cudart *runtime = RUNTIME();
    unsigned result = MT_CUDART_CALL(runtime, cuda_malloc, address, size);
    NOTE_CALLER();
    mt_cuda_allocated(CALL(CUDA_MALLOC), result, address, size);
    mt_pool_took(result, address, __builtin_return_address(0));
    return result;
}
