/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page for a browser: the installed memtap.html with traces inside.
 */
#ifndef MT_PAGE_FILE_H
#define MT_PAGE_FILE_H

#include <limits.h>
#include <stdbool.h>

/* The content of a page. */
struct mt_page_content {
    char *const *paths; /* traces; each brings its tail and its older segments */
    int n;
    int n_old; /* the first n_old traces are compared with the others; 0: no comparison */
    /* A text before the reports, for a browser that shows only text; NULL: none. */
    const char *title, *text;
    /* Set, after a message, if only the first part of a trace can be read. NULL: the caller
     * says so itself. */
    bool *is_damaged;
    char *const *imported; /* by trace: the file that it was imported from; NULL: none */
};

/* Write a page. Without output, create a temporary file and write its name to `made`. Return an
 * exit code: MT_EXIT_BAD after a message; an older page is then unchanged. */
int mt_save_page(const char *output, const struct mt_page_content *content, char made[PATH_MAX]);

/* Create a file for the user alone, with a name that ends with .html, in the folder of temporary
 * files. Return a descriptor, or -1 with errno. */
int mt_temporary_page(char path[PATH_MAX]);

/* Return the page that follows a trace, for `memtap view --live`: malloc'ed, or NULL after a
 * message. */
char *mt_live_page_text(void);

#endif
