/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_READ_FILE_H
#define MT_PRELOAD_READ_FILE_H

#include <stddef.h>

/* Reads up to size - 1 bytes of a small file and ends them with a NUL: how many; 0: none could. */
size_t mt_read_file(const char *path, char *text, size_t size);

/* A file's lines, one after the other, without stdio, which allocates (own-malloc.h). Of a line that
 * is longer than size - 1 bytes, the rest is left out. */
struct mt_lines {
    int fd;
    size_t at, n;
    char text[4096];
};

void mt_lines_open(struct mt_lines *lines, const char *path);
int mt_lines_next(struct mt_lines *lines, char *line, size_t size); /* 0: that was all */
void mt_lines_close(struct mt_lines *lines);

#endif
