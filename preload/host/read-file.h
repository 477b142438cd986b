/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_READ_FILE_H
#define MT_PRELOAD_READ_FILE_H

#include <stddef.h>

/* Read up to size - 1 bytes of a small file and terminate them. Return their number, 0 on failure.
 */
size_t mt_read_file(const char *path, char *text, size_t size);

/* Read a file line by line, without stdio, which allocates (own-malloc.h). Lines are truncated
 * after size - 1 bytes. */
struct mt_lines {
    int fd;
    size_t at, n;
    char text[4096];
};

void mt_lines_open(struct mt_lines *lines, const char *path);
int mt_lines_next(struct mt_lines *lines, char *line, size_t size); /* 0: no more */
void mt_lines_close(struct mt_lines *lines);

#endif
