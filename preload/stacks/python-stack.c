/* SPDX-License-Identifier: Apache-2.0 */
#include "python-stack.h"
#include "preload/host/message.h"
#include "preload/host/safe-read.h"
#include "preload/host/settings.h"
#include "preload/loader/find-real.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"
#include "python-frames.h"
#include "trace-format/likely.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum status {
    ABSENT,
    UNCHECKED,
    CHECKED,
    UNKNOWN_VERSION,
    FREE_THREADED,
    WRONG_LAYOUT,
    READ_ONLY,
    SWITCHED_OFF
};

static MT_HOT struct {
    _Atomic int status; /* enum status */
    const struct mt_python_layout *layout;
    struct mt_python_found found;
    struct mt_py_interpreters interpreters;
    char version[32];
} python;

MT_HOT _Atomic int mt_python_is_on;

static void set_status(enum status status)
{
    atomic_store(&python.status, (int)status);
    atomic_store(&mt_python_is_on, status == UNCHECKED || status == CHECKED);
}

struct mt_python_found mt_python_find(void)
{
    struct mt_python_found found;
    found.version = (const char *(*)(void))mt_real_dlsym(RTLD_DEFAULT, "Py_GetVersion");
    found.thread_state =
        (void *(*)(void))mt_real_dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    /* Versions up to 3.12 have only the private name. */
    int (*is_finalizing)(void) = (int (*)(void))mt_real_dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    if (!is_finalizing)
        is_finalizing = (int (*)(void))mt_real_dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    found.is_finalizing = is_finalizing;
    found.runtime = (struct mt_py_runtime){
        .first = (uint64_t(*)(void))mt_real_dlsym(RTLD_DEFAULT, "PyInterpreterState_Head"),
        .main = (uint64_t(*)(void))mt_real_dlsym(RTLD_DEFAULT, "PyInterpreterState_Main"),
        .running = (uint64_t(*)(void))mt_real_dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet"),
        .data = mt_real_dlsym(RTLD_DEFAULT, "_PyRuntime")};
    found.code_type = mt_real_dlsym(RTLD_DEFAULT, "PyCode_Type");
    found.types.str = mt_real_dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    found.types.dict = mt_real_dlsym(RTLD_DEFAULT, "PyDict_Type");
    found.types.ordered_dict = mt_real_dlsym(RTLD_DEFAULT, "PyODict_Type");
    found.types.tuple = mt_real_dlsym(RTLD_DEFAULT, "PyTuple_Type");
    found.types.cell = mt_real_dlsym(RTLD_DEFAULT, "PyCell_Type");
    return found;
}

void mt_python_start(const struct mt_python_found *found)
{
    int major, minor;
    python.found = *found;
    mt_py_types = found->types;
    if (found->version)
        sscanf(found->version(), "%31s", python.version);
    set_status(mt_settings.python_stacks ? ABSENT : SWITCHED_OFF);
    if (!mt_settings.python_stacks || !found->version || !found->thread_state ||
        !found->is_finalizing || !found->code_type || !mt_py_types.str ||
        sscanf(found->version(), "%d.%d", &major, &minor) != 2)
        return;
    /* Without the GIL, all objects have another head. */
    if (strstr(found->version(), "free-threading build")) {
        set_status(FREE_THREADED);
        mt_message("Python without the GIL is not supported; recording without Python stacks");
        return;
    }
    python.layout = mt_python_layout_of(major, minor);
    if (python.layout)
        python.interpreters = mt_py_interpreters_find(python.layout, &found->runtime);
    set_status(python.layout ? UNCHECKED : UNKNOWN_VERSION);
    if (python.layout && mt_frames_start(python.layout, found->code_type)) {
        set_status(READ_ONLY);
        mt_message("Python's code type is read-only, so memtap cannot see when code objects are "
                   "freed; recording without Python stacks");
    }
    if (!python.layout)
        mt_message("Python %d.%d is not supported; recording without Python stacks", major, minor);
}

static uint64_t current_frame(uint64_t tstate)
{
    uint64_t at = mt_py_word(tstate, python.layout->tstate_frame);
    if (python.layout->cframe_frame < 0 || !at)
        return at;
    return mt_py_word(at, python.layout->cframe_frame);
}

static int read_word(uint64_t object, int offset, uint64_t *out)
{
    return mt_safe_read((const char *)(uintptr_t)object + offset, out, sizeof *out);
}

static bool has_type(uint64_t object, const void *type)
{
    uint64_t found;
    return !read_word(object, MT_OBJECT_TYPE, &found) && found == (uint64_t)(uintptr_t)type;
}

/* Return whether the frame's instruction is in its code object. */
static bool is_sound_instruction(uint64_t frame, uint64_t code)
{
    const struct mt_python_layout *layout = python.layout;
    uint64_t instruction, units;
    if (layout->code_instructions < 0)
        return true;
    if (read_word(frame, layout->frame_instruction, &instruction) ||
        read_word(code, MT_CODE_UNITS, &units))
        return false;
    /* a frame that has not started may be before its first instruction */
    int64_t offset = (int64_t)(instruction - code) - layout->code_instructions;
    return offset >= -2 && offset < (int64_t)(2 * units) && offset % 2 == 0;
}

static bool is_sound_frame(uint64_t frame)
{
    const struct mt_python_layout *layout = python.layout;
    uint64_t code, name, file;
    char owner;
    if (layout->frame_owner >= 0 &&
        mt_safe_read((const char *)(uintptr_t)frame + layout->frame_owner, &owner, 1))
        return false;
    if (!mt_is_python_frame(layout, frame))
        return true;
    if (read_word(frame, layout->frame_code, &code))
        return false;
    code &= ~(uint64_t)MT_PY_TAGS;
    return has_type(code, python.found.code_type) && is_sound_instruction(frame, code) &&
           !read_word(code, layout->code_name, &name) && has_type(name, mt_py_types.str) &&
           !read_word(code, layout->code_filename, &file) && has_type(file, mt_py_types.str);
}

/* Walk once with reads that cannot crash: every frame must be valid, and the chain must end. */
static bool is_sound_stack(uint64_t tstate)
{
    const struct mt_python_layout *layout = python.layout;
    uint64_t frame;
    if (read_word(tstate, layout->tstate_frame, &frame))
        return false;
    if (layout->cframe_frame >= 0 && frame && read_word(frame, layout->cframe_frame, &frame))
        return false;
    for (unsigned n = 0; frame; n++)
        if (n > 100000 || !is_sound_frame(frame) ||
            read_word(frame, layout->frame_previous, &frame))
            return false;
    return true;
}

/* Check the layout: the first stack with a frame decides whether it fits this Python. */
static __attribute__((noinline, cold)) bool check(uint64_t tstate)
{
    uint64_t frame;
    if (!mt_can_read_safely() ||
        (!read_word(tstate, python.layout->tstate_frame, &frame) && !frame))
        return false; /* nothing to check with yet */
    set_status(is_sound_stack(tstate) ? CHECKED : WRONG_LAYOUT);
    if (python.status == WRONG_LAYOUT)
        mt_message("the frame layout of this Python 3.%d is unknown; "
                   "recording without Python stacks",
                   python.layout->minor);
    return python.status == CHECKED;
}

MT_HOT_CODE uint32_t mt_python_stack_there(struct mt_thread *self)
{
    /* At its end, Python frees the thread states of threads that still run. */
    if (python.found.is_finalizing())
        return 0;
    uint64_t tstate = (uint64_t)(uintptr_t)python.found.thread_state();
    if (!tstate)
        return 0;
    if (MT_UNLIKELY(*python.interpreters.newest != python.interpreters.main))
        tstate = mt_py_running_state(&python.interpreters, tstate);
    int status = atomic_load_explicit(&python.status, memory_order_acquire);
    if (status == UNCHECKED ? !check(tstate) : status != CHECKED)
        return 0;
    return mt_frames_stack(self, current_frame(tstate));
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), of_end = strlen(end);
    return n >= of_end && !strcmp(text + n - of_end, end);
}

/* Return whether a str in a running function's code ends with `end`. */
static bool text_ends_with(uint64_t str, const char *end)
{
    char text[1024];
    text[mt_py_utf8(python.layout, str, text, sizeof text - 1)] = '\0';
    return ends_with(text, end);
}

static bool is_in(uint64_t frame, const char *function, const char *file,
                  struct mt_python_place *out)
{
    const struct mt_python_layout *layout = python.layout;
    uint64_t code = mt_py_frame_code(layout, frame);
    uint64_t name = mt_py_word(code, layout->code_name);
    bool is_function = !function || (mt_py_word(name, MT_STRING_LENGTH) == strlen(function) &&
                                     text_ends_with(name, function));
    if (!is_function || !text_ends_with(mt_py_word(code, layout->code_filename), file))
        return false;
    uint64_t instruction =
        mt_py_word(frame, layout->frame_instruction) & mt_py_instruction_bits(layout);
    *out = (struct mt_python_place){frame, code, mt_py_line(layout, code, instruction)};
    return true;
}

bool mt_python_is_near(struct mt_thread *self, const char *function, const char *file,
                       struct mt_python_place *out)
{
    if (!mt_python_stack(self))
        return false;
    unsigned looked_at = 0; /* from 3.12 on, frames of C code lie in between */
    for (unsigned n = self->frames.n; n && looked_at < 2; n--) {
        if (!mt_is_python_frame(python.layout, self->frames.words[n].frame) ||
            self->frames.known[n].is_hidden)
            continue;
        if (is_in(self->frames.words[n].frame, function, file, out))
            return true;
        looked_at++;
    }
    return false;
}

const struct mt_python_layout *mt_python_layout(uint64_t *thread)
{
    bool is_known = atomic_load_explicit(&python.status, memory_order_acquire) == CHECKED &&
                    !python.found.is_finalizing();
    *thread = is_known ? (uint64_t)(uintptr_t)python.found.thread_state() : 0;
    return is_known ? python.layout : NULL;
}

const char *mt_python_version(void)
{
    return python.version;
}

const char *mt_python_status(void)
{
    switch (python.status) {
    case ABSENT:
        return "no: there is no Python in this process";
    case UNCHECKED:
        return "no: nothing happened in a Python function";
    case UNKNOWN_VERSION:
        return "no: this version of Python is not supported";
    case FREE_THREADED:
        return "no: this Python is built without the GIL";
    case WRONG_LAYOUT:
        return "no: the frame layout of this Python is unknown";
    case READ_ONLY:
        return "no: Python's code type is read-only";
    case SWITCHED_OFF:
        return "no: switched off";
    }
    return "yes";
}

void mt_python_reset(void)
{
    mt_frames_reset();
}
