/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of the CUDA driver, for a statically linked runtime, NCCL and PyTorch's expandable
 * segments. */
#include "driver.h"
#include "hook-records.h"

#define CALL_OF(api) mt_cuda_call_of(api, mt_driver_get_device())

#define BEFORE_COPIED_FLAT(api)
#define AFTER_COPIED_FLAT(api) copied_flat(MT_API_##api, result, copy)
#define BEFORE_COPIED_DEEP(api)
#define AFTER_COPIED_DEEP(api) copied_deep(MT_API_##api, result, copy)

/* The address of one end of a copy, by its kind of memory. */
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

#define MAKE_HOOK(name, parameters, arguments, record)                                             \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        BEFORE_##record;                                                                           \
        unsigned result = MT_DRIVER_CALL(name, MT_WITHOUT_PARENTHESES arguments);                  \
        NOTE_CALLER();                                                                             \
        AFTER_##record;                                                                            \
        return result;                                                                             \
    }
#define COPY_HOOKS(unused, name, base, symbol, second, since, parameters, arguments, record)       \
    MAKE_HOOK(name, parameters, arguments, record)                                                 \
    MAKE_HOOK(name##_ptds, parameters, arguments, record)
#define ASYNC_HOOKS(unused, name, base, symbol, second, since, parameters, arguments, record)      \
    MAKE_HOOK(name##_async, MT_AND_STREAM(parameters), (MT_WITHOUT_PARENTHESES arguments, stream), \
              record)                                                                              \
    MAKE_HOOK(name##_async_ptsz, MT_AND_STREAM(parameters),                                        \
              (MT_WITHOUT_PARENTHESES arguments, stream), record)
#define HOOK(unused, name, base, symbol, since, until, parameters, arguments, record)              \
    MAKE_HOOK(name, parameters, arguments, record)
#define HOOKS(unused, name, base, symbol, second, since, parameters, arguments, record)            \
    MAKE_HOOK(name, parameters, arguments, record)                                                 \
    MAKE_HOOK(name##_ptsz, parameters, arguments, record)
MT_DRIVER_COPIES(COPY_HOOKS, ASYNC_HOOKS, )
MT_DRIVER_MEMORY(HOOK, HOOKS, )

unsigned mt_hook_cu_mem_create(uint64_t *handle, size_t size,
                               const struct mt_physical_properties *wanted,
                               unsigned long long flags)
{
    struct mt_cuda_call call = CALL(CU_MEM_CREATE);
    if (wanted && wanted->location_type == MT_LOCATION_DEVICE)
        call.device_plus_1 = wanted->location + 1; /* it needs no context */
    unsigned result = MT_DRIVER_CALL(cu_mem_create, handle, size, wanted, flags);
    NOTE_CALLER();
    mt_cuda_allocated(call, result, handle, size);
    mt_pool_took(result, handle, __builtin_return_address(0));
    return result;
}
