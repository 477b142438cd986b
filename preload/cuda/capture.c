/* SPDX-License-Identifier: Apache-2.0 */
/* Memory allocated while a stream is captured belongs to a CUDA graph: PyTorch keeps it in a pool
 * of the graph. So each capture is recorded as a range. */
#include "hook-records.h"
#include "preload/hooks/pools.h"
#include "preload/torch/ranges.h"
#include "preload/uses/uses.h"

#define DOMAIN "CUDA"

static _Atomic unsigned captures;
static _Thread_local struct {
    bool is_on;
    void *stream; /* other streams may be captured inside, into parts of the same graph */
} capture __attribute__((tls_model("initial-exec")));

/* Count a capture once, although the runtime's call makes the driver's. */
void mt_capture_began(unsigned result, void *stream)
{
    char name[64];
    if (result || mt_cuda_is_inside() || capture.is_on)
        return;
    mt_pool_capture_name(name, sizeof name, ++captures);
    mt_range_push(DOMAIN, name);
    mt_uses_capture(true);
    capture.is_on = true;
    capture.stream = stream;
}

/* Note that the capture has ended, even if the call failed. Only this thread can end it. */
void mt_capture_ended(void *stream)
{
    if (mt_cuda_is_inside() || !capture.is_on || capture.stream != stream)
        return;
    mt_range_pop(DOMAIN);
    mt_uses_capture(false);
    capture.is_on = false;
}
