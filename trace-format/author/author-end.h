/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the process that writes a trace ends, for one that is not its parent. The kernel tells it from
 * Linux 6.15 on, to those that had a descriptor of the process while it was there.
 */
#ifndef MT_TRACE_AUTHOR_END_H
#define MT_TRACE_AUTHOR_END_H

#include "author.h"

/* Return a descriptor of the trace's author, which is close-on-exec, and its number in *pid; -ESRCH
 * if it does not run in the caller's namespace, or another negative errno. */
int mt_author_follow(const char *trace_path, uint32_t *pid);

/* Return 0 and the status as waitpid has it, once its parent has waited for it; -EAGAIN: not yet, or
 * the kernel does not tell. */
int mt_author_end(int process, int *status);

#endif
