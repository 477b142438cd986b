/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail's pages belong to a file. If somebody truncates it, or its disk fails, the next access
 * raises SIGBUS, which would kill the host. Instead, memory takes the place of the pages, and
 * recording ends. For every other cause the program's own action is put back and decides, and the
 * guard is over: the kernel calls the program's handler, as it would without us.
 */
#ifndef MT_PRELOAD_GUARD_H
#define MT_PRELOAD_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Start, over the handler that the program has, unless the program ignores the signal. A thread
 * that blocks it is not saved, nor a program that sets another handler later and does not call
 * ours. */
void mt_guard_start(void);

#define MT_GUARD_MOST 4097u /* the tail's begin, and each slot */

/* Guard pages of the file; NULL: no longer. Each number below MT_GUARD_MOST is one place. */
void mt_guard_set(unsigned number, void *pages, size_t size);

/* Note that pages are lost, and end the recording. */
void mt_guard_lose(void);

/* Return whether pages were lost: what was read or written since is worth nothing. */
bool mt_guard_has_lost(void);

/* Reset in a forked child. */
void mt_guard_reset(void);

#endif
