/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for a browser that carries traces: memtap.html, which is installed, with the traces' files
 * in it.
 */
#ifndef MT_PAGE_FILE_H
#define MT_PAGE_FILE_H

#include <limits.h>

/* Writes a page with these traces, the first of which it opens. Their tails and older segments go
 * with them. output NULL: a new file for temporary use, whose name is in `made`. An exit code:
 * MT_EXIT_BAD after a message, and then an older page is as it was. */
int mt_save_page(const char *output, char *const *paths, int n, char made[PATH_MAX]);

#endif
