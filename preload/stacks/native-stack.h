/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's native stack, and which of its stacks an event gets. */
#ifndef MT_PRELOAD_NATIVE_STACK_H
#define MT_PRELOAD_NATIVE_STACK_H

#include "preload/record/recorder.h"

/* What must be looked up in the loader. Takes its lock; any number of times. */
void mt_native_find(void);

/* Begins, where the settings ask for native stacks. */
void mt_native_start(void);

/* Id of the stack of an event that takes or asks for memory: Python's, the native one, or, with
 * both, the native frames up to the interpreter with the Python stack as their caller. 0: none.
 * Call between mt_enter and mt_leave. Other events have mt_python_stack. */
uint32_t mt_thread_stack(struct mt_thread *self);

/* After dlclose: what is known of code that has gone is forgotten. */
void mt_native_check_images(void);

/* For the trace: whether there are stacks, in a word or two. */
const char *mt_native_status(void);

/* For a forked child, whose ids begin anew. */
void mt_native_reset(void);

#endif
