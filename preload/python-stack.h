/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's Python stack, without the GIL: only the thread itself changes its chain of
 * frames, and its frames hold their code objects. Nothing is called in CPython and no reference
 * is taken.
 */
#ifndef MT_PRELOAD_PYTHON_STACK_H
#define MT_PRELOAD_PYTHON_STACK_H

#include "recorder.h"

/* Looks for a Python in this process. Takes the loader's lock; any number of times. */
void mt_python_find(void);

/* Begins with the Python that was found; where there is none, or one that memtap does not know,
 * stacks are 0. */
void mt_python_start(void);

/* Id of the thread's stack; 0: it is in no Python function. Call between mt_enter and mt_leave. */
uint32_t mt_python_stack(struct mt_thread *self);

/* For the trace: whether there are stacks, in a word or two. */
const char *mt_python_status(void);

/* For a forked child, whose ids begin anew. */
void mt_python_reset(void);

#endif
