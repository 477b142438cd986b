/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime's allocations. */
#include "python-stack.h"
#include "real.h"
#include "recorder.h"

#include <stdatomic.h>

#define CUDA_ERROR_UNKNOWN 999 /* cudaErrorUnknown */

/* The calling thread's device, asked of the runtime that served the call; not kept, a thread may
 * change it at any time. */
static int current_device(void)
{
    typedef unsigned get_device(int *device);
    static get_device *_Atomic real;
    static _Atomic int is_resolved;
    int device;
    if (!atomic_load_explicit(&is_resolved, memory_order_acquire)) {
        real = (get_device *)mt_find_real("cudaGetDevice", "libcudart.so.13");
        atomic_store_explicit(&is_resolved, 1, memory_order_release);
    }
    return real && !real(&device) ? device : MT_NO_DEVICE;
}

unsigned mt_hook_cuda_malloc(void **address, size_t size)
{
    if (!MT_REAL_OR_NULL(cuda_malloc))
        return CUDA_ERROR_UNKNOWN;
    unsigned result = MT_REAL_NOW(cuda_malloc)(address, size);
    mt_start();
    struct mt_thread *self = mt_enter();
    if (self) {
        uint64_t at = result ? 0 : (uint64_t)(uintptr_t)*address;
        mt_record(self, MT_CUDA_MALLOC, current_device(), mt_python_stack(self),
                  (uint64_t[]){at, size, result});
        mt_leave(self);
    }
    return result;
}

/* Recorded before the call: afterwards another thread may be given the address. */
unsigned mt_hook_cuda_free(void *address)
{
    if (!MT_REAL_OR_NULL(cuda_free))
        return CUDA_ERROR_UNKNOWN;
    uint64_t at = (uint64_t)(uintptr_t)address;
    struct mt_thread *self = at ? mt_enter() : NULL;
    int device = self ? current_device() : MT_NO_DEVICE;
    if (self) {
        mt_record(self, MT_CUDA_FREE, device, mt_python_stack(self), (uint64_t[]){at});
        mt_leave(self);
    }
    unsigned result = MT_REAL_NOW(cuda_free)(address);
    if (result && (self = mt_enter())) {
        mt_record(self, MT_CUDA_FREE_FAILED, device, 0, (uint64_t[]){at, result});
        mt_leave(self);
    }
    return result;
}
