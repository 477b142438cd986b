/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail's pages are a file's. Where somebody cuts it short, or its disk fails, the next access
 * is a SIGBUS, which would be the host's end: memory takes the place of the pages, and the
 * recording is over. Only where the program has nothing arranged for that signal, whose meaning
 * stays the same for all other causes.
 */
#ifndef MT_PRELOAD_GUARD_H
#define MT_PRELOAD_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* From now on, unless the program handles the signal itself. A thread that blocks it is not saved.
 */
void mt_guard_start(void);

#define MT_GUARD_MOST 4097u /* the tail's begin, and each slot */

/* Pages of the file lie here; NULL: no longer. Each number (below MT_GUARD_MOST) is one place. */
void mt_guard_set(unsigned number, void *pages, size_t size);

/* Some are lost, and with them the recording. */
void mt_guard_lose(void);

/* Whether some were lost: what was read or written since is worth nothing. */
bool mt_guard_has_lost(void);

/* For a forked child. */
void mt_guard_reset(void);

#endif
