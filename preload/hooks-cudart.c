/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime's allocations. */
#include "cudart.h"
#include "hooks.h"
#include "native-stack.h"
#include "python-stack.h"
#include "recorder.h"

#define CUDA_ERROR_UNKNOWN 999 /* cudaErrorUnknown */

/* The calling thread's device; not kept, a thread may change it at any time. */
static int current_device(const struct mt_cudart *runtime)
{
    int device;
    return runtime->get_device && !runtime->get_device(&device) ? device : MT_NO_DEVICE;
}

unsigned mt_hook_cuda_malloc(void **address, size_t size)
{
    const struct mt_cudart *runtime = mt_cudart_of(__builtin_return_address(0));
    if (!runtime)
        return CUDA_ERROR_UNKNOWN;
    unsigned result = runtime->malloc(address, size);
    mt_start();
    struct mt_thread *self = mt_enter();
    if (self) {
        uint64_t at = result ? 0 : (uint64_t)(uintptr_t)*address;
        mt_record(self, MT_CUDA_MALLOC, current_device(runtime), mt_stack(self),
                  (uint64_t[]){at, size, result});
        mt_leave(self);
    }
    return result;
}

/* Recorded before the call: afterwards another thread may be given the address. */
unsigned mt_hook_cuda_free(void *address)
{
    const struct mt_cudart *runtime = mt_cudart_of(__builtin_return_address(0));
    if (!runtime)
        return CUDA_ERROR_UNKNOWN;
    uint64_t at = (uint64_t)(uintptr_t)address;
    struct mt_thread *self = at ? mt_enter() : NULL;
    int device = self ? current_device(runtime) : MT_NO_DEVICE;
    if (self) {
        mt_record(self, MT_CUDA_FREE, device, mt_python_stack(self), (uint64_t[]){at});
        mt_leave(self);
    }
    unsigned result = runtime->free(address);
    if (result && (self = mt_enter())) {
        mt_record(self, MT_CUDA_FREE_FAILED, device, 0, (uint64_t[]){at, result});
        mt_leave(self);
    }
    return result;
}
