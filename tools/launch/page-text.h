/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports as text in a page, for a browser that cannot draw its views and for readers of the file.
 */
#ifndef MT_PAGE_TEXT_H
#define MT_PAGE_TEXT_H

#include <stdio.h>

/* Write our text as HTML. Its lines may contain foreign text. */
void mt_put_page_text(FILE *out, const char *title, const char *text);

/* Write the output of memtap report for a trace, and the text of its stacks' lines: once for runs
 * of the same lines. *sources keeps them from run to run: NULL for the first, to be freed after the
 * last. Return 0, or a negative errno after a message. */
int mt_put_page_report(FILE *out, const char *title, const char *path, char **sources);

#endif
