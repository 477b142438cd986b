/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail's pages belong to a file. If somebody truncates it, or its disk fails, the next access
 * raises SIGBUS, which would kill the host. Instead, memory takes the place of the pages, and
 * recording ends. For all other causes the signal goes to the program's handler, as without us.
 */
#ifndef MT_PRELOAD_GUARD_H
#define MT_PRELOAD_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Put our handler over the program's, unless it is there. The program may set another one at any
 * time: call this again and again. A thread that blocks the signal is not saved. */
void mt_guard_check(void);

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
