/* SPDX-License-Identifier: Apache-2.0 */
#include "python-stack.h"
#include "cache.h"
#include "intern.h"
#include "message.h"
#include "python-code.h"
#include "real.h"
#include "safe-read.h"
#include "settings.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Frames from 3.12 on that belong to C code, not to a Python function. */
#define OWNED_BY_C_STACK 3

enum status {
    ABSENT,
    UNCHECKED,
    CHECKED,
    UNKNOWN_VERSION,
    FREE_THREADED,
    WRONG_LAYOUT,
    SWITCHED_OFF
};

static struct {
    const struct mt_python_layout *layout;
    const char *(*version)(void); /* Py_GetVersion */
    void *(*thread_state)(void);  /* PyGILState_GetThisThreadState: needs no GIL */
    int (*is_finalizing)(void);
    const void *code_type, *str_type;
    _Atomic int status;
    struct mt_cache stacks;
} python = {.stacks.forgets = 1};

struct frame {
    uint64_t code, instruction;
};

/* Several threads may do so at once, and find the same. */
void mt_python_find(void)
{
    python.version = (const char *(*)(void))mt_real_dlsym(RTLD_DEFAULT, "Py_GetVersion");
    python.thread_state =
        (void *(*)(void))mt_real_dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    /* Its private name is that of versions up to 3.12. */
    int (*is_finalizing)(void) = (int (*)(void))mt_real_dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (!is_finalizing)
        is_finalizing = (int (*)(void))mt_real_dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    python.is_finalizing = is_finalizing;
    python.code_type = mt_real_dlsym(RTLD_DEFAULT, "PyCode_Type");
    python.str_type = mt_real_dlsym(RTLD_DEFAULT, "PyUnicode_Type");
}

void mt_python_start(void)
{
    int major, minor;
    python.status = mt_settings.python_stacks ? ABSENT : SWITCHED_OFF;
    if (!mt_settings.python_stacks || !python.version || !python.thread_state ||
        !python.is_finalizing || !python.code_type || !python.str_type ||
        sscanf(python.version(), "%d.%d", &major, &minor) != 2)
        return;
    /* Without the GIL all objects begin otherwise. */
    if (strstr(python.version(), "free-threading build")) {
        python.status = FREE_THREADED;
        mt_message("memtap does not know Python without the GIL; recording without Python stacks");
        return;
    }
    python.layout = mt_python_layout_of(major, minor);
    python.status = python.layout ? UNCHECKED : UNKNOWN_VERSION;
    if (!python.layout)
        mt_message("Python %d.%d is not one that memtap knows; recording without Python stacks",
                   major, minor);
}

static uint64_t current_frame(uint64_t tstate)
{
    uint64_t at = mt_py_word(tstate, python.layout->tstate_frame);
    if (python.layout->cframe_frame < 0 || !at)
        return at;
    return mt_py_word(at, python.layout->cframe_frame);
}

/* The value of frame_instruction: a pointer or an int. */
static uint64_t instruction_of(uint64_t frame)
{
    if (python.layout->code_instructions >= 0)
        return mt_py_word(frame, python.layout->frame_instruction);
    return (uint64_t)(uint32_t)mt_py_int(frame, python.layout->frame_instruction);
}

static int is_python_frame(uint64_t frame)
{
    if (python.layout->frame_owner < 0)
        return 1;
    return ((const char *)(uintptr_t)frame)[python.layout->frame_owner] < OWNED_BY_C_STACK;
}

/* The innermost frames, innermost first: how many. */
static unsigned walk(uint64_t tstate, struct frame *out)
{
    unsigned n = 0;
    for (uint64_t frame = current_frame(tstate); frame && n < MT_STACK_DEPTH;
         frame = mt_py_word(frame, python.layout->frame_previous))
        if (is_python_frame(frame))
            out[n++] =
                (struct frame){mt_py_frame_code(python.layout, frame), instruction_of(frame)};
    return n;
}

static int read_word(uint64_t object, int offset, uint64_t *out)
{
    return mt_safe_read((const char *)(uintptr_t)object + offset, out, sizeof *out);
}

static int has_type(uint64_t object, const void *type)
{
    uint64_t found;
    return !read_word(object, MT_OBJECT_TYPE, &found) && found == (uint64_t)(uintptr_t)type;
}

/* Whether the frame's instruction is one of its code object's. */
static int is_sound_instruction(uint64_t frame, uint64_t code)
{
    const struct mt_python_layout *layout = python.layout;
    uint64_t instruction, units;
    if (layout->code_instructions < 0)
        return 1;
    if (read_word(frame, layout->frame_instruction, &instruction) ||
        read_word(code, MT_CODE_UNITS, &units))
        return 0;
    /* a frame that has not begun may stand before the first */
    int64_t offset = (int64_t)(instruction - code) - layout->code_instructions;
    return offset >= -2 && offset < (int64_t)(2 * units) && offset % 2 == 0;
}

static int is_sound_frame(uint64_t frame)
{
    const struct mt_python_layout *layout = python.layout;
    uint64_t code, name, file;
    char owner = 0;
    if (layout->frame_owner >= 0 &&
        mt_safe_read((const char *)(uintptr_t)frame + layout->frame_owner, &owner, 1))
        return 0;
    if (owner >= OWNED_BY_C_STACK)
        return 1;
    if (read_word(frame, layout->frame_code, &code))
        return 0;
    code &= ~(uint64_t)MT_PY_TAGS;
    return has_type(code, python.code_type) && is_sound_instruction(frame, code) &&
           !read_word(code, layout->code_name, &name) && has_type(name, python.str_type) &&
           !read_word(code, layout->code_filename, &file) && has_type(file, python.str_type);
}

/* Walks once with reads that cannot crash: every frame must be one, and the chain must end. */
static int is_sound_stack(uint64_t tstate)
{
    const struct mt_python_layout *layout = python.layout;
    uint64_t frame;
    if (read_word(tstate, layout->tstate_frame, &frame))
        return 0;
    if (layout->cframe_frame >= 0 && frame && read_word(frame, layout->cframe_frame, &frame))
        return 0;
    for (unsigned n = 0; frame; n++)
        if (n > 100000 || !is_sound_frame(frame) ||
            read_word(frame, layout->frame_previous, &frame))
            return 0;
    return 1;
}

/* The first stack that has a frame decides whether the layout fits this Python. */
static int check(uint64_t tstate)
{
    uint64_t frame;
    if (!mt_can_read_safely() ||
        (!read_word(tstate, python.layout->tstate_frame, &frame) && !frame))
        return 0; /* nothing to check with yet */
    python.status = is_sound_stack(tstate) ? CHECKED : WRONG_LAYOUT;
    if (python.status == WRONG_LAYOUT)
        mt_message("this Python 3.%d keeps its frames in a way that memtap does not know; "
                   "recording without Python stacks",
                   python.layout->minor);
    return python.status == CHECKED;
}

static uint32_t intern(const struct mt_key *key)
{
    mt_intern_lock();
    uint32_t id = mt_cache_find(&python.stacks, key);
    if (!id) {
        uint32_t frame = mt_py_intern_frame(python.layout, key->a, key->b);
        id = frame ? mt_intern_stack(key->parent, frame) : 0;
        if (id)
            mt_cache_add(&python.stacks, key, id);
    }
    mt_intern_unlock();
    return id;
}

static uint32_t find_stack(const struct mt_key *key)
{
    uint32_t id = mt_cache_find(&python.stacks, key);
    return id ? id : intern(key);
}

/* From the outermost frame inwards: as far as it is the stack of the last event, its ids hold. */
static uint32_t identify(struct mt_thread *self, const struct frame *frames, unsigned n)
{
    uint32_t id = 0;
    int is_known = 1;
    for (unsigned i = 0; i < n; i++) {
        const struct frame *frame = &frames[n - 1 - i];
        struct mt_known_frame *known = &self->known[i];
        uint64_t stamp = mt_py_code_stamp(python.layout, frame->code);
        is_known = is_known && i < self->n_known && known->code == frame->code &&
                   known->instruction == frame->instruction && known->stamp == stamp;
        if (!is_known) {
            struct mt_key key = {frame->code, frame->instruction, stamp, id};
            *known =
                (struct mt_known_frame){frame->code, frame->instruction, stamp, find_stack(&key)};
        }
        id = known->stack;
    }
    self->n_known = n;
    return id;
}

uint32_t mt_python_stack(struct mt_thread *self)
{
    int status = atomic_load_explicit(&python.status, memory_order_acquire);
    if (status != CHECKED && status != UNCHECKED)
        return 0;
    /* At its end Python frees the thread states of threads that still run. */
    if (python.is_finalizing())
        return 0;
    uint64_t tstate = (uint64_t)(uintptr_t)python.thread_state();
    if (!tstate || (status == UNCHECKED && !check(tstate)))
        return 0;
    struct frame frames[MT_STACK_DEPTH];
    return identify(self, frames, walk(tstate, frames));
}

const char *mt_python_status(void)
{
    switch (python.status) {
    case ABSENT:
        return "no: there is no Python in this process";
    case UNCHECKED:
        return "no: nothing happened in a Python function";
    case UNKNOWN_VERSION:
        return "no: this version of Python is not known";
    case FREE_THREADED:
        return "no: this Python is built without the GIL";
    case WRONG_LAYOUT:
        return "no: this Python keeps its frames in an unknown way";
    case SWITCHED_OFF:
        return "no: switched off";
    }
    return "yes";
}

void mt_python_reset(void)
{
    mt_cache_reset(&python.stacks);
}
