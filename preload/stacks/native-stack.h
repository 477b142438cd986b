/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's native stack, and the choice of stack for an event. */
#ifndef MT_PRELOAD_NATIVE_STACK_H
#define MT_PRELOAD_NATIVE_STACK_H

#include "preload/record/recorder.h"

#include <stdbool.h>

/* Look up what needs the loader. Takes its lock; may be called repeatedly. */
void mt_native_find(void);

/* Start, if the settings want native stacks, or leave it to us and the process has no Python. */
void mt_native_start(bool has_python);

/* Return the id of the stack for an event that allocates or requests memory: Python's, the native
 * one, or with both, the native frames up to the interpreter with the Python stack as their caller;
 * 0 if there is none. Call between mt_enter and mt_leave. Other events use mt_python_stack. */
uint32_t mt_thread_stack(struct mt_thread *self);

/* With Python stacks only, a CUDA library (cuBLAS, NCCL ...) that made the CUDA call becomes the
 * innermost frame: the Python line does not show that the memory is the library's own. Return the
 * id of a stack with it, or the stack unchanged. caller is a return address, NULL if unknown. */
extern bool mt_native_callers_are_named;
uint32_t mt_stack_with_caller(uint32_t stack, const void *caller);

/* Forget facts about unloaded code. Call after dlclose. */
void mt_native_check_images(void);

/* Return for the trace, as text, whether there are stacks. */
const char *mt_native_status(void);

/* Reset in a forked child, whose ids start over. */
void mt_native_reset(void);

#endif
