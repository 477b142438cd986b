/* SPDX-License-Identifier: Apache-2.0 */
/* Memory allocated while a stream is captured belongs to a CUDA graph: PyTorch keeps it in a pool
 * of the graph's own. So record each capture as a range. */
#include "cuda-memory.h"
#include "cudart.h"
#include "driver.h"
#include "preload/hooks/pools.h"
#include "preload/torch/ranges.h"

#define DOMAIN "CUDA"

static _Atomic unsigned captures;
static _Thread_local struct {
    bool is_on;
    void *stream; /* other streams may be captured inside, into parts of the same graph */
} capture __attribute__((tls_model("initial-exec")));

/* Count a capture once, though the runtime's call makes the driver's. */
static void begun(unsigned result, void *stream)
{
    char name[64];
    if (result || mt_cuda_is_inside() || capture.is_on)
        return;
    mt_pool_capture_name(name, sizeof name, ++captures);
    mt_range_push(DOMAIN, name);
    capture.is_on = true;
    capture.stream = stream;
}

/* Note that the capture has ended, even if the call failed. Another thread cannot end it. */
static void ended(void *stream)
{
    if (mt_cuda_is_inside() || !capture.is_on || capture.stream != stream)
        return;
    mt_range_pop(DOMAIN);
    capture.is_on = false;
}

#define RUNTIME() mt_cudart_of(__builtin_return_address(0))

#define HOOK_RUNTIME(name)                                                                         \
    unsigned mt_hook_##name(void *stream, unsigned mode)                                           \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        unsigned result = MT_CUDART_ASK(runtime, name, stream, mode);                              \
        begun(result, stream);                                                                     \
        return result;                                                                             \
    }
HOOK_RUNTIME(cuda_capture)
HOOK_RUNTIME(cuda_capture_ptsz)

#define HOOK_RUNTIME_END(name)                                                                     \
    unsigned mt_hook_##name(void *stream, void **graph)                                            \
    {                                                                                              \
        const struct mt_cudart *runtime = RUNTIME();                                               \
        unsigned result = MT_CUDART_ASK(runtime, name, stream, graph);                             \
        ended(stream);                                                                             \
        return result;                                                                             \
    }
HOOK_RUNTIME_END(cuda_capture_end)
HOOK_RUNTIME_END(cuda_capture_end_ptsz)

#define HOOK_DRIVER(name)                                                                          \
    unsigned mt_hook_##name(void *stream, unsigned mode)                                           \
    {                                                                                              \
        unsigned result = MT_DRIVER_ASK(name, stream, mode);                                       \
        begun(result, stream);                                                                     \
        return result;                                                                             \
    }
HOOK_DRIVER(cu_capture)
HOOK_DRIVER(cu_capture_ptsz)

#define HOOK_DRIVER_END(name)                                                                      \
    unsigned mt_hook_##name(void *stream, void **graph)                                            \
    {                                                                                              \
        unsigned result = MT_DRIVER_ASK(name, stream, graph);                                      \
        ended(stream);                                                                             \
        return result;                                                                             \
    }
HOOK_DRIVER_END(cu_capture_end)
HOOK_DRIVER_END(cu_capture_end_ptsz)
