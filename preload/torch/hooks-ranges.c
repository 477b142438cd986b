/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that a program names: the functions behind memtap.h, and NVTX. NVTX's header, which is
 * compiled into the program, loads the library that NVTX_INJECTION64_PATH names (injection.c) and
 * calls its InitializeInjectionNvtx2 to fill in tables of functions. Numbers and structures are
 * those of NVTX 3 (nvtx3/nvtxDetail/nvtxTypes.h, nvToolsExt.h).
 */
#include "preload/holders/holders.h"
#include "preload/hooks/hooks.h"
#include "preload/record/recorder.h"
#include "preload/record/switch.h"
#include "preload/write/device-watch.h"
#include "preload/write/output.h"
#include "ranges.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define LONGEST_WIDE 1024u

enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

struct attributes { /* nvtxEventAttributes_v2 */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

struct callbacks { /* NvtxExportTableCallbacks */
    size_t size;
    int (*functions_of)(int module, void ****table, unsigned *n);
};

static _Thread_local int depth __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t last_range;

void mt_hook_range_push(const char *name)
{
    mt_range_push(NULL, name);
}

void mt_hook_range_pop(void)
{
    mt_range_pop(NULL);
}

void mt_hook_mark(const char *name)
{
    mt_range_mark(NULL, name);
}

void mt_hook_name(const void *address, const char *name)
{
    mt_range_name(address, name);
}

void mt_hook_begin(void)
{
    mt_recorder_begin();
}

void mt_hook_begin_for(unsigned seconds, unsigned iterations)
{
    mt_switch_limit(seconds, iterations);
    mt_recorder_begin();
}

void mt_hook_rest(void)
{
    mt_recorder_rest();
}

void mt_hook_sample(void)
{
    mt_watch_request();
}

void mt_hook_holders(void)
{
    mt_holders_search(MT_HOLDERS_REQUESTED);
}

size_t mt_hook_trace(char *path, size_t size)
{
    int state = atomic_load(&mt_state);
    return state == MT_DORMANT || state == MT_RESTING ? 0 : mt_output_own(path, size);
}

/* Convert a wide text to UTF-8, truncated if it is too long. */
static const char *narrow(const wchar_t *wide, char out[4 * LONGEST_WIDE + 1])
{
    char *to = out;
    for (unsigned i = 0; wide && wide[i] && i < LONGEST_WIDE; i++) {
        uint32_t c = (uint32_t)wide[i];
        if (c < 0x80) {
            *to++ = (char)c;
            continue;
        }
        unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        *to++ = (char)((0xff00u >> (more + 1) & 0xff) | c >> (6 * more));
        while (more--)
            *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
    }
    *to = '\0';
    return out;
}

static const char *message_of(const struct attributes *attributes,
                              char buffer[4 * LONGEST_WIDE + 1])
{
    switch (attributes ? attributes->message_type : 0) {
    case MESSAGE_ASCII:
    case MESSAGE_REGISTERED: /* our copy of it */
        return attributes->message;
    case MESSAGE_WIDE:
        return narrow(attributes->message, buffer);
    }
    return NULL;
}

/* Create the handle of a domain or a registered text: a permanent copy of the text. */
static void *domain_create(const char *name)
{
    return strdup(name ? name : "");
}

static void *domain_create_wide(const wchar_t *name)
{
    char buffer[4 * LONGEST_WIDE + 1];
    return strdup(narrow(name, buffer));
}

static void *register_text(const void *domain, const char *text)
{
    (void)domain;
    return domain_create(text);
}

static void *register_wide(const void *domain, const wchar_t *text)
{
    (void)domain;
    return domain_create_wide(text);
}

static uint64_t start(const char *domain, const char *name)
{
    uint64_t number = ++last_range;
    mt_range_start(number, domain, name);
    return number;
}

static void domain_end(const void *domain, uint64_t number)
{
    (void)domain;
    mt_range_end(number);
}

/* Push a range; like pop, return how many ranges are open around it, as NVTX does. */
static int push(const char *domain, const char *name)
{
    mt_range_push(domain, name);
    return depth++;
}

static int domain_pop(const char *domain)
{
    mt_range_pop(domain);
    return depth > 0 ? --depth : -1;
}

/* NVTX has each call in four forms: in a domain, and without one by a structure, a text and a wide
 * text. */
#define FORMS(type, what, call)                                                                    \
    static type domain_##what(const char *domain, const struct attributes *attributes)             \
    {                                                                                              \
        char buffer[4 * LONGEST_WIDE + 1];                                                         \
        return call(domain, message_of(attributes, buffer));                                       \
    }                                                                                              \
    static type what##_with(const struct attributes *attributes)                                   \
    {                                                                                              \
        return domain_##what(NULL, attributes);                                                    \
    }                                                                                              \
    static type what##_text(const char *name)                                                      \
    {                                                                                              \
        return call(NULL, name);                                                                   \
    }                                                                                              \
    static type what##_wide(const wchar_t *name)                                                   \
    {                                                                                              \
        char buffer[4 * LONGEST_WIDE + 1];                                                         \
        return call(NULL, narrow(name, buffer));                                                   \
    }
FORMS(void, mark, mt_range_mark)
FORMS(uint64_t, start, start)
FORMS(int, push, push)

static int pop(void)
{
    return domain_pop(NULL);
}

static const struct {
    int module;
    unsigned number; /* in its module's table */
    void *function;
} functions[] = {
    {MODULE_CORE, 1, (void *)mark_with},
    {MODULE_CORE, 2, (void *)mark_text},
    {MODULE_CORE, 3, (void *)mark_wide},
    {MODULE_CORE, 4, (void *)start_with},
    {MODULE_CORE, 5, (void *)start_text},
    {MODULE_CORE, 6, (void *)start_wide},
    {MODULE_CORE, 7, (void *)mt_range_end},
    {MODULE_CORE, 8, (void *)push_with},
    {MODULE_CORE, 9, (void *)push_text},
    {MODULE_CORE, 10, (void *)push_wide},
    {MODULE_CORE, 11, (void *)pop},
    {MODULE_CORE2, 1, (void *)domain_mark},
    {MODULE_CORE2, 2, (void *)domain_start},
    {MODULE_CORE2, 3, (void *)domain_end},
    {MODULE_CORE2, 4, (void *)domain_push},
    {MODULE_CORE2, 5, (void *)domain_pop},
    {MODULE_CORE2, 10, (void *)register_text},
    {MODULE_CORE2, 11, (void *)register_wide},
    {MODULE_CORE2, 12, (void *)domain_create},
    {MODULE_CORE2, 13, (void *)domain_create_wide},
};

/* Return 1 if we are ready, 0 if NVTX is to continue without us. */
int mt_hook_nvtx(const void *(*export_table)(uint32_t table))
{
    const struct callbacks *callbacks = export_table ? export_table(TABLE_CALLBACKS) : NULL;
    if (!callbacks || callbacks->size < sizeof *callbacks || !callbacks->functions_of)
        return 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void ***table;
        unsigned n;
        if (callbacks->functions_of(functions[i].module, &table, &n) && functions[i].number < n &&
            table[functions[i].number])
            *table[functions[i].number] = functions[i].function;
    }
    return 1;
}
