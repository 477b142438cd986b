/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/parts.h"
#include "info.h"
#include "preload/cuda/cupti.h"
#include "preload/holders/holders.h"
#include "preload/holders/reserving.h"
#include "preload/holders/script-end.h"
#include "preload/hooks/pools.h"
#include "preload/loader/cuda-pools.h"
#include "preload/modules/node-names.h"
#include "preload/record/clock.h"
#include "preload/record/intern.h"
#include "preload/record/switch.h"
#include "preload/record/threads.h"
#include "preload/stacks/native-stack.h"
#include "preload/stacks/python-stack.h"
#include "preload/torch/blocks.h"
#include "preload/torch/totals.h"
#include "preload/uses/uses.h"
#include "preload/write/device-memory.h"
#include "preload/write/device-watch.h"
#include "preload/write/writer.h"

/* Found by this thread, which passes it on if it starts the recording. */
static _Thread_local struct mt_python_found python __attribute__((tls_model("initial-exec")));

static void find_python(void)
{
    python = mt_python_find();
}

/* Parts whose state stays as it is for another recording. */
#define START(part, call)                                                                          \
    static int start_##part(bool is_again)                                                         \
    {                                                                                              \
        if (!is_again)                                                                             \
            call;                                                                                  \
        return 0;                                                                                  \
    }
START(holders, (mt_holders_start(), mt_reserving_start(python.version),
                mt_script_end_watch(python.code_type)))
START(info, mt_info_prepare())
START(python, mt_python_start(&python))
START(native, mt_native_start(python.version))

static int start_clock(bool is_again)
{
    (void)is_again;
    mt_clock_start();
    return 0;
}

static int start_uses(bool is_again)
{
    return is_again ? 0 : mt_uses_start();
}

/* Another trace has nothing of what the allocator was known to be like. No thread is in a hook. */
static void reset_requests(void)
{
    mt_requests_reset();
    mt_totals_reset();
}

static int start_requests(bool is_again)
{
    if (is_again)
        reset_requests();
    return 0;
}

static int start_writer(bool is_again)
{
    static const struct mt_writer_info info = {mt_info_collect, mt_info_collect_changes,
                                               mt_info_collect_late};
    (void)is_again;
    return mt_writer_start(&info);
}

const struct mt_part mt_parts[] = {
    {.find = mt_clock_find, .start = start_clock, .reset = mt_switch_reset},
    {.start = start_uses, .reset = mt_uses_reset},
    {.start = start_info},
    {.reset = mt_intern_reset},
    {.reset = mt_pools_reset},
    {.reset = mt_cuda_pools_reset},
    {.start = start_requests, .reset = reset_requests},
    {.reset = mt_cupti_reset},
    {.reset = mt_node_names_reset},
    {.find = mt_native_find, .start = start_native, .reset = mt_native_reset},
    {.find = find_python, .start = start_python, .reset = mt_python_reset},
    {.find = mt_holders_find, .start = start_holders, .reset = mt_holders_reset},
    {.reset = mt_reserving_reset},
    {.reset = mt_threads_reset},
    {.reset = mt_watch_reset},
    {.hold = mt_device_memory_hold, .release = mt_device_memory_release},
    {.start = start_writer,
     .await = mt_writer_wait_open,
     .hold = mt_writer_hold,
     .release = mt_writer_release,
     .reset = mt_writer_reset,
     .stop = mt_writer_stop},
};

const unsigned mt_n_parts = sizeof mt_parts / sizeof *mt_parts;
