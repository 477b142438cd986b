/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is there as a whole or not at all: it has no name until it is complete, where the file
 * system can do that, else a temporary one beside it.
 */
#ifndef MT_NEW_FILE_H
#define MT_NEW_FILE_H

#include <limits.h>
#include <stdbool.h>

struct mt_new_file {
    const char *path;
    char temporary[PATH_MAX]; /* "": it has no name yet */
    bool is_direct;           /* path is no file (a pipe, a device): nothing is renamed */
    int fd;
};

/* 0 or a negative errno. */
int mt_new_file_open(struct mt_new_file *file, const char *path);

/* Gives the complete file its name, in the place of what has it; or forgets it. Both close it. */
int mt_new_file_keep(struct mt_new_file *file);
void mt_new_file_drop(struct mt_new_file *file);

#endif
