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

/* With Python's stacks alone, a library of CUDA's (cuBLAS, NCCL ...) that a call of CUDA's came
 * from is the innermost frame: the Python line does not tell that the memory is the library's own.
 * Return the id of a stack with it, or the stack. caller: a return address, NULL: not known. */
extern bool mt_callers_are_named;
uint32_t mt_stack_with_caller(uint32_t stack, const void *caller);

/* Forget facts about unloaded code. Call after dlclose. */
void mt_native_check_images(void);

/* Say for the trace, in a word or two, whether there are stacks. */
const char *mt_native_status(void);

/* Reset in a forked child, whose ids begin anew. */
void mt_native_reset(void);

#endif
