/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a process has started, and those that these have. */
#ifndef MT_FIT_PROCESSES_H
#define MT_FIT_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Return the bytes of the host's memory that the calling process's have for themselves; 0: not
 * known. */
uint64_t mt_processes_memory(void);

/* Kill all of them, but for those that are spared (their parents are to see how their children
 * end): these have so many seconds. The caller must be the one that orphans are given to
 * (PR_SET_CHILD_SUBREAPER); it has no child afterwards. */
void mt_processes_end(const pid_t *spared, size_t n_spared, double grace_s);

#endif
