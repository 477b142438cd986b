/* SPDX-License-Identifier: Apache-2.0 */
#include "ranges.h"
#include "preload/record/intern.h"
#include "preload/record/recorder.h"

#include <string.h>

/* torch.autograd.profiler.emit_nvtx numbers its ranges after these words: each would be a separate
 * text, and a long run would collect millions. */
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
    if (!mt_intern_lock())
        return 0;
    uint32_t id = mt_intern_string(text, length_of(text));
    mt_intern_unlock();
    return id;
}

/* The arguments are evaluated within the hook, because names are interned. */
#define RECORD(kind, ...)                                                                          \
    do {                                                                                           \
        struct mt_thread *self_ = mt_enter();                                                      \
        if (self_) {                                                                               \
            mt_record(self_, kind, MT_NO_DEVICE, 0, MT_ARGS(__VA_ARGS__));                         \
            mt_leave(self_);                                                                       \
        }                                                                                          \
    } while (0)

void mt_range_push(const char *domain, const char *name)
{
    RECORD(MT_RANGE_PUSH, text_id(name), text_id(domain));
}

void mt_range_pop(const char *domain)
{
    RECORD(MT_RANGE_POP, text_id(domain));
}

void mt_range_start(uint64_t number, const char *domain, const char *name)
{
    RECORD(MT_RANGE_START, number, text_id(name), text_id(domain));
}

void mt_range_end(uint64_t number)
{
    RECORD(MT_RANGE_END, number);
}

void mt_range_mark(const char *domain, const char *name)
{
    RECORD(MT_RANGE_MARK, text_id(name), text_id(domain));
}

void mt_range_name(const void *address, const char *name)
{
    RECORD(MT_NAMED, (uint64_t)(uintptr_t)address, text_id(name));
}
