/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for a browser that carries traces: memtap.html, which is installed, with the traces' files
 * in it.
 */
#ifndef MT_PAGE_FILE_H
#define MT_PAGE_FILE_H

#include <limits.h>

/* What a page is to carry. */
struct mt_page_content {
    char *const *paths; /* traces; their tails and older segments go with them */
    int n;
    int n_old;        /* so many of these, the first ones, are compared with the others; 0: no such */
    /* Stands before the reports, for a browser that shows only text; NULL: none. */
    const char *title, *text;
};

/* Writes a page. output NULL: a new file for temporary use, whose name is in `made`. An exit code:
 * MT_EXIT_BAD after a message, and then an older page is as it was. */
int mt_save_page(const char *output, const struct mt_page_content *content, char made[PATH_MAX]);

/* The page that follows a trace, which `memtap view --live` serves: malloc'ed, or NULL after a message. */
char *mt_live_page_text(void);

#endif
