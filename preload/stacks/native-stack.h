/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's native stack, and the choice of stack for an event. */
#ifndef MT_PRELOAD_NATIVE_STACK_H
#define MT_PRELOAD_NATIVE_STACK_H

#include "preload/record/recorder.h"

/* Look up what the loader must answer. Takes its lock; may be called again. */
void mt_native_find(void);

/* Start, if the settings want native stacks. */
void mt_native_start(void);

/* Return the id of the stack for an event that takes or requests memory: Python's, the native one,
 * or with both, the native frames up to the interpreter with the Python stack as their caller. 0:
 * none. Call between mt_enter and mt_leave. Other events use mt_python_stack. */
uint32_t mt_thread_stack(struct mt_thread *self);

/* Forget facts about unloaded code. Call after dlclose. */
void mt_native_check_images(void);

/* Say for the trace, in a word or two, whether there are stacks. */
const char *mt_native_status(void);

/* Reset in a forked child, whose ids begin anew. */
void mt_native_reset(void);

#endif
