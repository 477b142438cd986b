/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail's pages belong to a file. If another program truncates it, or its disk fails, the next
 * access raises SIGBUS, which would kill the host. Instead, the pages are replaced by memory and
 * the recording ends. For every other cause the program's own action is restored and decides, and
 * the guard ends: the kernel calls the program's handler, as it would without us.
 */
#ifndef MT_PRELOAD_GUARD_H
#define MT_PRELOAD_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Start, over the program's handler, unless the program ignores the signal. A thread that blocks
 * the signal is not protected, nor is a program that sets another handler later that does not call
 * ours.
 */
void mt_guard_start(void);

/* Start again if there was a handler before ours and now there is none: at its end, Python puts
 * back what was before its faulthandler, and so before us. */
void mt_guard_resume(void);

#define MT_GUARD_MOST 4097u /* the tail's begin, and each slot */

/* Guard pages of the file; NULL ends that. number is below MT_GUARD_MOST and names a range of
 * pages. */
void mt_guard_set(unsigned number, void *pages, size_t size);

/* Note that pages are lost, and end the recording. */
void mt_guard_lose(void);

/* Return whether pages were lost: anything read or written since is invalid. */
bool mt_guard_has_lost(void);

/* Reset in a forked child. */
void mt_guard_reset(void);

#endif
