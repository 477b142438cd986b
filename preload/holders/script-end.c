/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter frees the script's code object when it has run it, also after sys.exit(). No
 * function runs in the main thread then; the modules are as the script left them. A program that
 * ends by another exception keeps the code, in its traceback. */
#include "script-end.h"
#include "holders.h"
#include "preload/host/settings.h"
#include "preload/python/deaths.h"
#include "preload/python/python-code.h"
#include "preload/stacks/python-frames.h"
#include "preload/stacks/python-stack.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool begins_with(const struct mt_python_layout *layout, uint64_t str, const char *begin)
{
    char text[32] = "";
    mt_py_utf8(layout, str, text, sizeof text);
    return !strncmp(text, begin, strlen(begin));
}

static bool is_in_function(const struct mt_python_layout *layout, uint64_t thread)
{
    uint64_t frame = mt_py_word(thread, layout->tstate_frame);
    if (frame && layout->cframe_frame >= 0)
        frame = mt_py_word(frame, layout->cframe_frame);
    while (frame && !mt_is_python_frame(layout, frame))
        frame = mt_py_word(frame, layout->frame_previous);
    return frame != 0;
}

static void notice(uint64_t code)
{
    uint64_t thread;
    const struct mt_python_layout *layout = mt_python_layout(&thread);
    if (!layout || !thread || is_in_function(layout, thread) || getpid() != syscall(SYS_gettid))
        return;
    uint64_t file = mt_py_word(code, layout->code_filename);
    if (begins_with(layout, mt_py_word(code, layout->code_name), "<module>") &&
        !begins_with(layout, file, "<stdin>") && !begins_with(layout, file, "<python-input"))
        mt_holders_search(MT_HOLDERS_END);
}

void mt_script_end_watch(const void *code_type)
{
    if (mt_settings.holders_at & 1u << MT_HOLDERS_END && !mt_code_deaths_count(code_type))
        mt_code_death_notice = notice;
}
