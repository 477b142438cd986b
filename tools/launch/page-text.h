/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports as text in a page, for a browser that cannot draw its views, and for whoever reads the file.
 */
#ifndef MT_PAGE_TEXT_H
#define MT_PAGE_TEXT_H

#include <stdio.h>

/* A text of ours, whose lines may have what others chose, as HTML that shows it. */
void mt_put_page_text(FILE *out, const char *title, const char *text);

/* What memtap report says of a trace. 0; a negative errno after a message. */
int mt_put_page_report(FILE *out, const char *title, const char *path);

#endif
