/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all. Until it is complete it has no name if the file system
 * can do that, else a temporary name beside the path.
 */
#ifndef MT_NEW_FILE_H
#define MT_NEW_FILE_H

#include <limits.h>
#include <stdbool.h>

struct mt_new_file {
    const char *path;
    char temporary[PATH_MAX]; /* "": no name yet */
    bool is_direct;           /* the path is a pipe or a device: nothing is renamed */
    int fd;
};

/* Return 0 or a negative errno. */
int mt_new_file_open(struct mt_new_file *file, const char *path);

/* Give the complete file its name, replacing another file; or discard it. Both close it. */
int mt_new_file_keep(struct mt_new_file *file);
void mt_new_file_drop(struct mt_new_file *file);

#endif
