/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/parts.h"
#include "info.h"
#include "preload/cuda/cupti.h"
#include "preload/holders/holders.h"
#include "preload/holders/script-end.h"
#include "preload/hooks/pools.h"
#include "preload/host/settings.h"
#include "preload/modules/node-names.h"
#include "preload/record/clock.h"
#include "preload/record/intern.h"
#include "preload/record/threads.h"
#include "preload/stacks/native-stack.h"
#include "preload/stacks/python-stack.h"
#include "preload/torch/blocks.h"
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

#define START(part, call)                                                                          \
    static int start_##part(void)                                                                  \
    {                                                                                              \
        call;                                                                                      \
        return 0;                                                                                  \
    }
START(clock, mt_clock_start())
START(settings, mt_settings_read())
START(holders, (mt_holders_start(), mt_script_end_watch(python.code_type)))
START(info, mt_info_prepare())
START(python, mt_python_start(&python))
START(native, mt_native_start(python.version))

static int start_writer(void)
{
    static const struct mt_writer_info info = {mt_info_collect, mt_info_collect_changes,
                                               mt_info_collect_late};
    return mt_writer_start(&info);
}

const struct mt_part mt_parts[] = {
    {.find = mt_clock_find, .start = start_clock},
    {.start = start_settings},
    {.start = mt_uses_start, .reset = mt_uses_reset},
    {.start = start_info},
    {.reset = mt_intern_reset},
    {.reset = mt_pools_reset},
    {.reset = mt_requests_reset},
    {.reset = mt_cupti_reset},
    {.reset = mt_node_names_reset},
    {.find = mt_native_find, .start = start_native, .reset = mt_native_reset},
    {.find = find_python, .start = start_python, .reset = mt_python_reset},
    {.find = mt_holders_find, .start = start_holders, .reset = mt_holders_reset},
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
