/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the process that writes a trace ends, for a process that is not its parent. From Linux 6.15
 * on, the kernel tells this to holders of a descriptor of the process.
 */
#ifndef MT_TRACE_AUTHOR_END_H
#define MT_TRACE_AUTHOR_END_H

#include "author.h"

/* Return a descriptor of the trace's author, which is close-on-exec, and its number in *pid; -ESRCH
 * if it does not run in the caller's namespace, or another negative errno. */
int mt_author_follow(const char *trace_path, uint32_t *pid);

/* Return 0 and the status as in waitpid, once the parent has waited for the process; -EAGAIN: not
 * yet, or the kernel does not tell. */
int mt_author_end(int process, int *status);

#endif
