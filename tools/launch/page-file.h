/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for a browser that carries traces: memtap.html, which is installed, with the traces' files
 * in it.
 */
#ifndef MT_PAGE_FILE_H
#define MT_PAGE_FILE_H

#include <stdio.h>

/* Writes a page with these traces, the first of which it opens. Their tails and older segments go
 * with them. An exit code: MT_EXIT_BAD after a message. */
int mt_write_page(FILE *out, const char *out_name, char *const *paths, int n);

#endif
