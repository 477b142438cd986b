/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's Python stack, without the GIL: only the thread itself changes its chain of
 * frames, and its frames hold references to their code objects. CPython is never called and no
 * reference is acquired.
 */
#ifndef MT_PRELOAD_PYTHON_STACK_H
#define MT_PRELOAD_PYTHON_STACK_H

#include <stdbool.h>

#include "preload/python/interpreters.h"
#include "preload/python/python-objects.h"
#include "preload/record/recorder.h"

/* Functions and types of the Python in this process. */
struct mt_python_found {
    const char *(*version)(void); /* Py_GetVersion */
    void *(*thread_state)(void);  /* PyGILState_GetThisThreadState: needs no GIL */
    int (*is_finalizing)(void);
    struct mt_py_runtime runtime;
    void *code_type;
    struct mt_py_types types;
};

/* Find Python. Takes the loader's lock; may be called repeatedly. */
struct mt_python_found mt_python_find(void);

/* Start with this Python. Without one, or with an unsupported one, stacks are 0. */
void mt_python_start(const struct mt_python_found *found);

/* Python may be in use, and its stacks are wanted. */
extern _Atomic int mt_python_is_on;

uint32_t mt_python_stack_there(struct mt_thread *self);

/* Return the id of the thread's stack, or 0 if it is in no Python function. Call between mt_enter
 * and mt_leave, and mt_read_objects (read-objects.h) after it: reading a stack records no events.
 */
static inline uint32_t mt_python_stack(struct mt_thread *self)
{
    return atomic_load_explicit(&mt_python_is_on, memory_order_acquire)
               ? mt_python_stack_there(self)
               : 0;
}

/* A place in a function. */
struct mt_python_place {
    uint64_t frame, code;
    uint32_t line;
};

/* Return whether the thread's innermost frame, or its caller, is of this function (NULL: any) in a
 * file whose path ends with `file`, and write its place. Call between mt_enter and mt_leave. */
bool mt_python_is_near(struct mt_thread *self, const char *function, const char *file,
                       struct mt_python_place *out);

/* Return the layout of this process's Python, and the calling thread's state in it (PyThreadState;
 * 0: none); NULL: there is none, or memtap does not know it, or has not met a frame of it. */
const struct mt_python_layout *mt_python_layout(uint64_t *thread);

/* Return for the trace this process's version of Python, "3.11.7", or "". */
const char *mt_python_version(void);

/* Return for the trace, as text, whether there are stacks. */
const char *mt_python_status(void);

/* Reset in a forked child, whose ids start over. */
void mt_python_reset(void);

#endif
