/* SPDX-License-Identifier: Apache-2.0 */
#include "python-frames.h"
#include "cache.h"
#include "intern.h"
#include "python-code.h"
#include "python-modules.h"
#include "python-objects.h"

/* What is found for a frame whose first argument counts: it is to be looked up with its module. */
#define BY_OBJECT UINT32_MAX

static const struct mt_python_layout *layout;
static struct mt_cache stacks = {.forgets = 1};

void mt_frames_start(const struct mt_python_layout *of_this_python)
{
    layout = of_this_python;
    mt_modules_start(layout);
}

/* The value of frame_instruction: a pointer or an int. */
static inline uint64_t instruction_of(uint64_t frame)
{
    if (layout->code_instructions >= 0)
        return mt_py_word(frame, layout->frame_instruction);
    return (uint64_t)(uint32_t)mt_py_int(frame, layout->frame_instruction);
}

/* The first argument, also where functions inside the function use it, too. The frame has one. */
static uint64_t argument_of(uint64_t frame)
{
    uint64_t object = mt_py_word(frame, layout->frame_locals);
    if (object && mt_py_word(object, MT_OBJECT_TYPE) == (uint64_t)(uintptr_t)mt_py_types.cell)
        object = mt_py_word(object, MT_CELL_VALUE);
    return object;
}

static int has_argument(uint64_t frame)
{
    return layout->frame_locals >= 0 &&
           mt_py_int(mt_py_frame_code(layout, frame), layout->code_arguments) > 0;
}

/* A stack being identified: frames, innermost first. Place i is counted from the outermost one. */
struct walk {
    struct mt_thread *self;
    unsigned n;
    uint64_t frame[MT_STACK_DEPTH];
};

static inline uint64_t frame_at(const struct walk *walk, unsigned i)
{
    return walk->frame[walk->n - 1 - i];
}

/* How many frames, from the outermost inwards, are as at the thread's last event. */
static unsigned count_known(const struct walk *walk)
{
    const struct mt_known_frame *known = walk->self->known;
    unsigned most = walk->n < walk->self->n_known ? walk->n : walk->self->n_known, i;
    for (i = 0; i < most; i++, known++) {
        uint64_t frame = frame_at(walk, i), code = mt_py_frame_code(layout, frame);
        if (known->code != code &&
            (known->code != (code | 1) || known->object != argument_of(frame)))
            break;
        if (known->instruction != instruction_of(frame) ||
            known->stamp != mt_py_code_stamp(layout, code))
            break;
    }
    return i;
}

/* The nearest caller that is at work for a module. */
static struct mt_module_caller caller_of(const struct walk *walk, unsigned i)
{
    const struct mt_known_frame *known = walk->self->known;
    while (i && !known[i - 1].object)
        i--;
    return i ? (struct mt_module_caller){known[i - 1].object, known[i - 1].module}
             : (struct mt_module_caller){0, 0};
}

/* Callers that may have a module among their parts: modules that were called, else any function's
 * first argument. */
static unsigned owners_of(const struct walk *walk, unsigned i, struct mt_module_caller *owner)
{
    unsigned n = 0;
    uint32_t enclosing = i ? walk->self->known[i - 1].module : 0;
    while (i-- && n < MT_MODULE_OWNERS) {
        const struct mt_known_frame *known = &walk->self->known[i];
        if (known->object)
            owner[n++] = (struct mt_module_caller){known->object, known->module};
        else if (!enclosing && has_argument(frame_at(walk, i)))
            owner[n++] = (struct mt_module_caller){argument_of(frame_at(walk, i)), 0};
    }
    return n;
}

/* Whether the frame at place i is at work for its first argument, another module than its callers.
 */
static int enters_module(const struct walk *walk, unsigned i, uint64_t code)
{
    if (!has_argument(frame_at(walk, i)))
        return 0;
    uint64_t object = argument_of(frame_at(walk, i));
    return object && object != caller_of(walk, i).object && mt_module_is_caller(code, object);
}

static uint32_t intern(const struct walk *walk, unsigned i, const struct mt_key *key, uint64_t code,
                       uint64_t instruction, uint32_t module)
{
    mt_intern_lock();
    uint32_t id = mt_cache_find(&stacks, key);
    if (!id && key->a == code && enters_module(walk, i, code))
        id = BY_OBJECT;
    if (!id) {
        uint32_t frame = mt_py_intern_frame(layout, code, instruction, mt_module_name(module));
        id = frame ? mt_intern_stack(key->parent, frame) : 0;
    }
    if (id)
        mt_cache_add(&stacks, key, id);
    mt_intern_unlock();
    return id;
}

static uint32_t resolve(const struct walk *walk, unsigned i, uint64_t object)
{
    struct mt_module_caller owner[MT_MODULE_OWNERS];
    unsigned n = owners_of(walk, i, owner);
    mt_intern_lock();
    uint32_t module = mt_module_resolve(object, caller_of(walk, i), owner, n);
    mt_intern_unlock();
    return module;
}

/* The same line of the same function is another frame for each module. */
static void look_up_by_object(const struct walk *walk, unsigned i, struct mt_key key)
{
    struct mt_known_frame *known = &walk->self->known[i];
    uint64_t code = key.a, instruction = key.b;
    uint64_t object = argument_of(frame_at(walk, i));
    uint32_t module = object ? mt_module_find(object, caller_of(walk, i)) : 0;
    if (object && !module)
        module = resolve(walk, i, object);
    key.a = code | 1;
    key.b = instruction | (uint64_t)module << 48; /* addresses have 47 bits */
    uint32_t id = mt_cache_find(&stacks, &key);
    if (!id)
        id = intern(walk, i, &key, code, instruction, module);
    *known = (struct mt_known_frame){code | 1, instruction, key.stamp, object, id, module};
}

static void look_up(const struct walk *walk, unsigned i)
{
    struct mt_known_frame *known = &walk->self->known[i];
    uint64_t frame = frame_at(walk, i), code = mt_py_frame_code(layout, frame);
    struct mt_key key = {code, instruction_of(frame), mt_py_code_stamp(layout, code),
                         i ? known[-1].stack : 0};
    uint32_t id = mt_cache_find(&stacks, &key);
    if (!id)
        id = intern(walk, i, &key, code, key.b, 0);
    if (id == BY_OBJECT)
        look_up_by_object(walk, i, key);
    else
        *known = (struct mt_known_frame){code, key.b, key.stamp, 0, id, i ? known[-1].module : 0};
}

uint32_t mt_frames_stack(struct mt_thread *self, uint64_t innermost)
{
    struct walk walk;
    walk.self = self;
    walk.n = 0;
    for (uint64_t frame = innermost; frame && walk.n < MT_STACK_DEPTH;
         frame = mt_py_word(frame, layout->frame_previous))
        if (mt_is_python_frame(layout, frame))
            walk.frame[walk.n++] = frame;
    for (unsigned i = count_known(&walk); i < walk.n; i++)
        look_up(&walk, i);
    self->n_known = walk.n;
    return walk.n ? self->known[walk.n - 1].stack : 0;
}

void mt_frames_reset(void)
{
    mt_cache_reset(&stacks);
    mt_modules_reset();
}
