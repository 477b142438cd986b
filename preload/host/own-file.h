/* SPDX-License-Identifier: Apache-2.0 */
/* A file that memtap has made. The host may close our descriptor, and use its number for a file of
 * its own: look before each use. */
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

/* Makes a new file, mode 0600, no symbolic link followed; flags: besides those of open(2) that this
 * takes. 0 or a negative errno. */
int mt_own_file_create(struct mt_own_file *file, const char *path, int flags);

/* Whether the descriptor is still that of the file. */
bool mt_own_file_is_ours(const struct mt_own_file *file);

/* Whether that is its name. */
bool mt_own_file_is_at(const struct mt_own_file *file, const char *path);

/* Takes the name away, if it is still that of the file. */
void mt_own_file_unlink(const struct mt_own_file *file, const char *path);

/* Removes a file that begins so, or is empty, and that nobody else made, nor any link. */
void mt_own_file_remove_leftover(const char *path, const void *begin, size_t size);

void mt_own_file_close(struct mt_own_file *file);

#endif
