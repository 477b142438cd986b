/* SPDX-License-Identifier: Apache-2.0 */
/* Our own threads and system calls, where the program may forbid them. */
#ifndef MT_PRELOAD_OWN_THREAD_H
#define MT_PRELOAD_OWN_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>

/* The program has restricted its system calls (seccomp). A call that it does not make itself may
 * end it: we make none any more, here and in its children. */
extern _Atomic bool mt_is_restricted;

/* Start a detached thread with as large a stack as we need: the program's default may be 16 KiB
 * (ulimit -s), or too large for the address space. Return 0 or an error number. */
int mt_own_thread(void *(*run)(void *));

/* Return whether the kernel has any in this process. */
bool mt_own_threads_exist(void);

/* Wait until the kernel has no thread of ours any more, for at most 1 s. They have been told to
 * end. */
void mt_own_threads_await_end(void);

/* Forget them in a forked child, which has none of them. */
void mt_own_threads_forget(void);

#endif
