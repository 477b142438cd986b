/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"
#include "preload/host/memory.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"
#include "preload/stacks/python-frames.h"
#include "python-graph.h"
#include "trace-format/meaning/marks.h"

#define MOST_FRAMES 4096u

static const struct mt_python_layout *layout(void)
{
    return mt_holder_python.layout;
}

/* Return whether a file is the program's, not Python's library or an installed package. */
static bool is_own_file(const char *file)
{
    size_t length;
    return *file && *file != '<' && !strstr(file, "/lib/python3") &&
           !mt_packages_in(file, strlen(file), &length);
}

static bool is_own_str(uint64_t str)
{
    char text[1024];
    return !mt_py_text(layout(), str, text, sizeof text) && is_own_file(text);
}

/* Call for each Python thread, beginning with the one whose moment it is. */
static void each_thread(void (*call)(uint64_t thread, const void *data), const void *data)
{
    const struct mt_holder_python *python = &mt_holder_python;
    if (python->thread)
        call(python->thread, data);
    for (void *state = python->first_interpreter(); state; state = python->next_interpreter(state))
        for (void *thread = python->first_thread(state); thread;
             thread = python->next_thread(thread))
            if ((uint64_t)(uintptr_t)thread != python->thread)
                call((uint64_t)(uintptr_t)thread, data);
}

static uint64_t innermost(uint64_t thread)
{
    uint64_t at = mt_py_word(thread, layout()->tstate_frame);
    return layout()->cframe_frame < 0 || !at ? at : mt_py_word(at, layout()->cframe_frame);
}

/* Reach a value of a frame from it. */
static void reach_value(uint64_t value, enum mt_picture_root_sort sort, uint64_t frame, unsigned i)
{
    if (!value || mt_holder_type_of(value) == MT_TYPE_LEAF)
        return;
    uint32_t node = mt_picture_add(value, MT_NODE_OBJECT);
    if (node == MT_NO_NODE || mt_picture.flags[node] & (MT_NODE_IS_REACHED | MT_NODE_IS_GLOBALS))
        return;
    uint32_t root = mt_picture_add_root(sort, frame, i);
    if (mt_holder_type_of(value) == MT_TYPE_OPTIMIZER)
        mt_picture_reach_later(value, MT_NODE_OBJECT, root);
    else
        mt_picture_reach(value, MT_NODE_OBJECT, root);
}

/* What to do with a frame. */
typedef void use_frame(uint64_t frame, uint64_t code);

static void reach_variables(uint64_t frame, uint64_t code)
{
    uint64_t variables = mt_py_word(frame, mt_holder_python.holding->frame_variables);
    for (unsigned i = 0, n = mt_frame_variables(code); i < n; i++)
        reach_value(mt_py_reference(mt_word(mt_variable(frame, i))), MT_ROOT_FRAME, frame, i);
    if (variables) /* of a class body, or of a module's code that exec runs */
        reach_value(variables, MT_ROOT_GLOBALS, variables, 0);
}

static void take_off_variables(uint64_t frame, uint64_t code)
{
    for (unsigned i = 0, n = mt_frame_variables(code); i < n; i++) {
        uint64_t value = mt_py_reference(mt_word(mt_variable(frame, i)));
        uint32_t node = value ? mt_picture_find(value) : MT_NO_NODE;
        if (node != MT_NO_NODE)
            mt_picture.refs[node]--;
    }
}

/* Reach values on the frame's stack, where an old one may lie, too: those that have a reference
 * which nothing else explains. */
static void reach_stack(uint64_t frame, uint64_t code)
{
    unsigned first = mt_frame_variables(code);
    unsigned n = (unsigned)mt_py_int(code, mt_holder_python.holding->code_stack);
    for (unsigned i = first; i < first + n && n < 65536; i++) {
        uint64_t value = mt_py_reference(mt_word(mt_variable(frame, i)));
        uint32_t node = mt_picture_find(value);
        if (node != MT_NO_NODE && mt_picture.flags[node] & MT_NODE_IS_TRACKED &&
            mt_picture.refs[node] > 0)
            reach_value(value, MT_ROOT_STACK, frame, i);
    }
}

struct frames {
    use_frame *use;
    int is_own; /* of which files; -1: all */
};

/* Use a thread's frames, the outermost first: it has a value for the longest time. */
static void use_frames(uint64_t thread, const void *data)
{
    static uint64_t *frames; /* only the child has this memory */
    const struct frames *wanted = data;
    volatile unsigned n = 0;
    if (!frames && !(frames = mt_map(MOST_FRAMES * sizeof *frames)))
        return;
    if (MT_MAY_CRASH()) {
        for (uint64_t frame = innermost(thread); frame && n < MOST_FRAMES;
             frame = mt_py_word(frame, layout()->frame_previous))
            if (mt_is_python_frame(layout(), frame))
                frames[n++] = frame;
        mt_crash_over();
    }
    while (n) {
        uint64_t frame = frames[--n];
        if (MT_MAY_CRASH()) {
            uint64_t code = mt_py_frame_code(layout(), frame);
            if (wanted->is_own < 0 ||
                is_own_str(mt_py_word(code, layout()->code_filename)) == wanted->is_own)
                wanted->use(frame, code);
            mt_crash_over();
        }
    }
}

static void take_off_all(void)
{
    each_thread(use_frames, &(struct frames){take_off_variables, -1});
}

/* Find a module's entry of that name; 0: none. */
static uint64_t entry_of(uint64_t dict, const char *name)
{
    struct mt_py_dict entries;
    struct mt_py_entry entry;
    return mt_py_dict_open_alive(layout(), dict, &entries) ||
                   mt_py_dict_find(layout(), &entries, name, &entry)
               ? 0
               : entry.value;
}

static bool is_own_module(uint64_t dict)
{
    char name[64];
    uint64_t file = entry_of(dict, "__file__"), str = entry_of(dict, "__name__");
    if (file && is_own_str(file))
        return true;
    return !file && str && !mt_py_text(layout(), str, name, sizeof name) &&
           !strcmp(name, "__main__");
}

/* Call for each module's dict. */
static void each_module(void (*call)(uint32_t module, uint64_t dict))
{
    for (uint32_t node = 0, n = mt_picture.n; node < n; node++) {
        uint64_t object = mt_picture.address[node];
        if (!(mt_picture.flags[node] & MT_NODE_IS_TRACKED))
            continue;
        if (MT_MAY_CRASH()) {
            if (mt_word(object + MT_OBJECT_TYPE) == mt_holder_python.module &&
                mt_word(object + MT_MODULE_DICT))
                call(node, mt_word(object + MT_MODULE_DICT));
            mt_crash_over();
        }
    }
}

static void mark_module(uint32_t module, uint64_t dict)
{
    uint32_t node = mt_picture_add(dict, MT_NODE_OBJECT);
    mt_picture.flags[module] |= MT_NODE_IS_GLOBALS;
    if (node != MT_NO_NODE)
        mt_picture.flags[node] |= MT_NODE_IS_GLOBALS;
}

static bool wants_own;

static void reach_module(uint32_t module, uint64_t dict)
{
    (void)module;
    if (is_own_module(dict) == wants_own)
        mt_picture_reach(dict, MT_NODE_OBJECT, mt_picture_add_root(MT_ROOT_GLOBALS, dict, 0));
}

void mt_roots_of_code(bool is_own)
{
    if (is_own) {
        take_off_all();
        each_module(mark_module);
    }
    each_thread(use_frames, &(struct frames){reach_variables, is_own});
    wants_own = is_own;
    each_module(reach_module);
}

static void reach_root(uint64_t object, enum mt_picture_root_sort sort, uint64_t of)
{
    if (object && mt_holder_type_of(object) != MT_TYPE_LEAF)
        mt_picture_reach(object, MT_NODE_OBJECT, mt_picture_add_root(sort, of, 0));
}

static void reach_thread(uint64_t thread, const void *unused)
{
    const struct mt_holder_layout *holding = mt_holder_python.holding;
    (void)unused;
    if (MT_MAY_CRASH()) {
        uint64_t raised = mt_py_word(thread, holding->thread_raised);
        reach_root(raised, MT_ROOT_RAISED, raised);
        uint64_t handled = mt_py_word(thread, holding->thread_handled);
        for (unsigned i = 0; handled && i < MOST_FRAMES; i++) {
            uint64_t error = mt_py_word(handled, holding->handled_value);
            reach_root(error, MT_ROOT_HANDLED, error);
            handled = mt_py_word(handled, holding->handled_previous);
        }
        reach_root(mt_py_word(thread, holding->thread_dict), MT_ROOT_THREAD, thread);
        mt_crash_over();
    }
}

static void reach_last(uint32_t module, uint64_t dict)
{
    static const char *const name[] = {"last_exc", "last_value", "last_traceback"};
    char text[8];
    uint64_t str = entry_of(dict, "__name__");
    (void)module;
    if (!str || mt_py_text(layout(), str, text, sizeof text) || strcmp(text, "sys") != 0)
        return;
    for (unsigned i = 0; i < sizeof name / sizeof *name; i++)
        reach_root(entry_of(dict, name[i]), MT_ROOT_LAST, i);
}

void mt_roots_of_threads(void)
{
    each_thread(reach_thread, NULL);
    each_module(reach_last);
}

void mt_roots_at_hand(void)
{
    each_thread(use_frames, &(struct frames){reach_stack, -1});
}

void mt_roots_native(void)
{
    for (uint32_t node = 0, n = mt_picture.n; node < n; node++)
        if (mt_picture.flags[node] & MT_NODE_IS_TRACKED && mt_picture.refs[node] > 0)
            mt_picture_reach(mt_picture.address[node], MT_NODE_OBJECT, MT_ROOT_BIT);
}

/* For each object that nothing reached, store an object that refers to it in refs, which is no
 * longer needed. */
static int note_referrer(void *object, void *data)
{
    uint32_t node = mt_picture_find((uint64_t)(uintptr_t)object);
    if (node != MT_NO_NODE && !(mt_picture.flags[node] & MT_NODE_IS_REACHED) &&
        mt_picture.refs[node] < 0)
        mt_picture.refs[node] = *(const uint32_t *)data;
    return 0;
}

static bool is_garbage(uint32_t node)
{
    return (mt_picture.flags[node] & (MT_NODE_IS_TRACKED | MT_NODE_IS_REACHED)) ==
           MT_NODE_IS_TRACKED;
}

uint32_t mt_cycle_referrer(uint32_t node)
{
    return (uint32_t)mt_picture.refs[node];
}

/* Going from each object to one that refers to it, over and over, ends in a cycle: mark it. seen:
 * for each node, the walk that came by, from 1 on. */
static void find_cycle(uint32_t from, uint32_t *seen)
{
    uint32_t node = from;
    while (!seen[node] && mt_picture.refs[node] >= 0) {
        seen[node] = from + 1;
        node = (uint32_t)mt_picture.refs[node];
    }
    if (seen[node] != from + 1)
        return;
    for (; !(mt_picture.flags[node] & MT_NODE_IS_IN_CYCLE); node = (uint32_t)mt_picture.refs[node])
        mt_picture.flags[node] |= MT_NODE_IS_IN_CYCLE;
}

void mt_roots_garbage(void)
{
    uint32_t n = mt_picture.n, *seen = mt_map(n * sizeof *seen);
    if (!seen) {
        mt_picture.is_full = true;
        return;
    }
    for (uint32_t node = 0; node < n; node++)
        mt_picture.refs[node] = -1;
    for (uint32_t node = 0; node < n; node++)
        if (is_garbage(node))
            mt_object_visit(mt_picture.address[node], note_referrer, &node);
    for (uint32_t node = 0; node < n; node++)
        if (is_garbage(node))
            find_cycle(node, seen);
}

/* Return whether an object has no name of its own: up to 3.10, for one, an instance's attributes
 * are in a dict, and the cycle is better told from the instance on. */
static bool is_dict(uint32_t node)
{
    volatile bool is_dict = false;
    if (MT_MAY_CRASH()) {
        is_dict = mt_py_sort(mt_picture.address[node]) == MT_PY_DICT;
        mt_crash_over();
    }
    return is_dict;
}

void mt_roots_of_cycles(bool of_dicts)
{
    for (uint32_t node = 0, n = mt_picture.n; node < n; node++)
        if (mt_picture.flags[node] & MT_NODE_IS_IN_CYCLE &&
            !(mt_picture.flags[node] & MT_NODE_IS_REACHED) && is_dict(node) == of_dicts)
            mt_picture_reach(mt_picture.address[node], MT_NODE_OBJECT,
                             mt_picture_add_root(MT_ROOT_CYCLE, node, 0));
}
