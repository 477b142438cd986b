/* SPDX-License-Identifier: Apache-2.0 */
/* Our own threads, and system calls that the program may forbid. */
#ifndef MT_PRELOAD_OWN_THREAD_H
#define MT_PRELOAD_OWN_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>

/* The program has restricted its system calls (seccomp). A call that it does not make itself may
 * kill it, so we make none from then on, here and in its children. */
extern _Atomic bool mt_own_threads_are_restricted;

/* Start a detached thread with a stack of the size we need: the program's default may be 16 KiB
 * (ulimit -s), or too large for the address space. Return 0 or an error number. */
int mt_own_thread(void *(*run)(void *));

/* Return whether any of our threads exists in this process. */
bool mt_own_threads_exist(void);

/* Return whether a thread of the kernel's number is or was ours. */
bool mt_own_threads_have(int id);

/* Wait until none of our threads exists any more, at most 1 s. They must have been requested to
 * end. */
void mt_own_threads_await_end(void);

/* Forget them in a forked child, which has none. */
void mt_own_threads_forget(void);

#endif
