/* SPDX-License-Identifier: Apache-2.0 */
/* A file that memtap created. The host may close our descriptor and reuse its number for a file of
 * its own, so check before each use. */
#ifndef MT_PRELOAD_OWN_FILE_H
#define MT_PRELOAD_OWN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mt_own_file {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
};

/* Create a new file, mode 0600, following no symbolic link. flags: more flags for open(2). Return 0
 * or a negative errno. */
int mt_own_file_create(struct mt_own_file *file, const char *path, int flags);

/* Whether the descriptor still refers to the file. */
bool mt_own_file_is_ours(const struct mt_own_file *file);

/* Whether the file has this name. */
bool mt_own_file_is_at(const struct mt_own_file *file, const char *path);

/* Remove the name if it is still the file's. */
void mt_own_file_unlink(const struct mt_own_file *file, const char *path);

/* Remove a file that begins with these bytes or is empty, if it is a regular file of this user. */
void mt_own_file_remove_leftover(const char *path, const void *begin, size_t size);

void mt_own_file_close(struct mt_own_file *file);

#endif
