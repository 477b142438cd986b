/* SPDX-License-Identifier: Apache-2.0 */
#include "ranges.h"
#include "intern.h"
#include "python-stack.h"
#include "recorder.h"

#include <string.h>

/* torch.autograd.profiler.emit_nvtx numbers its ranges after these words: each would be a text of
 * its own, and a long run would collect millions. */
static const char *const numbered[] = {", seq = ", ", op_id = "};

static size_t length_of(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++) {
        const char *at = strstr(name, numbered[i]);
        if (at && (size_t)(at - name) < length)
            length = (size_t)(at - name);
    }
    return length;
}

static uint32_t text_id(const char *text)
{
    if (!text || !*text)
        return 0;
    mt_intern_lock();
    uint32_t id = mt_intern_string(text, length_of(text));
    mt_intern_unlock();
    return id;
}

static void record(unsigned kind, const uint64_t arguments[static MT_EVENT_ARGS])
{
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    mt_record(self, kind, MT_NO_DEVICE, 0, arguments);
    mt_leave(self);
}

void mt_range_push(const char *domain, const char *name)
{
    if (mt_is_recording())
        record(MT_RANGE_PUSH, MT_ARGS(text_id(name), text_id(domain)));
}

void mt_range_pop(const char *domain)
{
    if (mt_is_recording())
        record(MT_RANGE_POP, MT_ARGS(text_id(domain)));
}

void mt_range_start(uint64_t number, const char *domain, const char *name)
{
    if (mt_is_recording())
        record(MT_RANGE_START, MT_ARGS(number, text_id(name), text_id(domain)));
}

void mt_range_end(uint64_t number)
{
    if (mt_is_recording())
        record(MT_RANGE_END, MT_ARGS(number));
}

void mt_range_mark(const char *domain, const char *name)
{
    if (mt_is_recording())
        record(MT_RANGE_MARK, MT_ARGS(text_id(name), text_id(domain)));
}

void mt_range_name(const void *address, const char *name)
{
    if (mt_is_recording())
        record(MT_NAMED, MT_ARGS((uint64_t)(uintptr_t)address, text_id(name)));
}
