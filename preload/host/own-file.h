/* SPDX-License-Identifier: Apache-2.0 */
/* A file that memtap created. The host may close our descriptor and reuse its number for a file of
 * its own, so check before each use. */
#ifndef MT_PRELOAD_OWN_FILE_H
#define MT_PRELOAD_OWN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_own_file {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
    dev_t root_device; /* of "/" when it was created */
    ino_t root_inode;
};

/* Move a new descriptor, which has the smallest free number, away from small ones. Return its
 * number, or -1 if it was closed, because the program needs the few that are left. */
int mt_own_fd_move(int fd);

/* Create a new file with the permissions of MEMTAP_MODE, without following symbolic links. flags
 * are added to those for open(2). Return 0 or a negative errno. */
int mt_own_file_create(struct mt_own_file *file, const char *path, int flags);

/* Return whether the descriptor still refers to the file. */
bool mt_own_file_is_ours(const struct mt_own_file *file);

/* Where an open file is now. */
enum mt_file_place {
    MT_FILE_HERE,         /* at the path */
    MT_FILE_GONE,         /* nowhere: it was removed */
    MT_FILE_RENAMED,      /* elsewhere */
    MT_FILE_OUT_OF_REACH, /* this process cannot check: it may have changed its user or its root */
    MT_FILE_NOT_OPEN,     /* the host has closed it */
};
enum mt_file_place mt_own_file_place(const struct mt_own_file *file, const char *path);

/* Return whether the file has that size, so no one else has written to it or truncated it. */
bool mt_own_file_has_size(const struct mt_own_file *file, uint64_t size);

/* Remove the name if it still refers to the file. */
void mt_own_file_unlink(const struct mt_own_file *file, const char *path);

/* Remove a file that begins with these bytes or is empty, if it is a regular file of this user. */
void mt_own_file_remove_leftover(const char *path, const void *begin, size_t size);

void mt_own_file_close(struct mt_own_file *file);

#endif
