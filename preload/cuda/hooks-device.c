/* SPDX-License-Identifier: Apache-2.0 */
/* The first calls of programs, which fail if they can use no device. */
#include "cuda-memory.h"
#include "cudart.h"
#include "driver.h"
#include "preload/hooks/hooks.h"

/* Inside the runtime's call, whose failure says more than that of the driver's call within it. This
 * is not MT_CUDA_INSIDE: other allocations while the driver starts, such as a tool's, are recorded.
 */
static _Thread_local bool is_in_runtime __attribute__((tls_model("initial-exec")));

static void leave_runtime(const int *before)
{
    is_in_runtime = *before;
}

#define RUNTIME_HOOK(name, symbol, parameters, ...)                                                \
    unsigned mt_hook_##name parameters                                                             \
    {                                                                                              \
        const struct mt_cudart *runtime = mt_cudart_of(__builtin_return_address(0));               \
        unsigned result = MT_CUDA_NO_FUNCTION;                                                     \
        if (runtime && runtime->name) {                                                            \
            __attribute__((cleanup(leave_runtime))) int before = is_in_runtime;                    \
            is_in_runtime = true;                                                                  \
            result = runtime->name(__VA_ARGS__);                                                   \
        }                                                                                          \
        mt_cuda_failed(symbol, result);                                                            \
        return result;                                                                             \
    }
RUNTIME_HOOK(cuda_device_count, "cudaGetDeviceCount", (int *count), count)
RUNTIME_HOOK(cuda_set_device, "cudaSetDevice", (int device), device)

unsigned mt_hook_cu_init(unsigned flags)
{
    unsigned result = MT_DRIVER_REAL(cu_init) ? MT_DRIVER_NOW(cu_init)(flags) : MT_CUDA_NO_FUNCTION;
    if (!is_in_runtime)
        mt_cuda_failed("cuInit", result);
    return result;
}
