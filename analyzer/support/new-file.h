/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files of memtap's commands. Every output is opened here.
 *
 * * * A file appears complete or not at all. Until it is complete it has no name if the file system
 * supports that, else a temporary name next to the path. It then replaces an older file, whose mode
 * and owner it gets. Devices, pipes and sockets are written to directly. Symbolic links are
 * followed, except those that another user may have planted: in a folder that others may write to,
 * a link owned by neither the process's user nor the folder's owner. Missing folders are created.
 * Files protected by guard.h are refused: inputs, traces and files that belong to them.
 *
 * * * struct mt_new_file file; int rc = mt_new_file_open(&file, path, 0); FILE *out = rc ? NULL :
 * mt_new_file_stream(&file); ... rc = mt_new_file_close(&file, out, rc);
 */
#ifndef MT_NEW_FILE_H
#define MT_NEW_FILE_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum mt_new_file_how {
    MT_FILE_PRIVATE = 1,  /* a new file is private to its owner: copies of traces */
    MT_FILE_ONLY_NEW = 2, /* never replace a file: -EEXIST */
    MT_FILE_IN_PLACE = 4, /* the caller replaces its own input: skip the guard */
    /* A new file contains data of the inputs, so it grants no more than they do. */
    MT_FILE_AS_INPUTS = 8
};

struct mt_new_file {
    char path[PATH_MAX];      /* with links resolved */
    char temporary[PATH_MAX]; /* "": no name yet */
    unsigned how;             /* enum mt_new_file_how */
    bool is_direct;           /* the path is a pipe or a device and is written to directly */
    int fd;
    uint64_t written; /* bytes written through the stream */
    bool is_full;     /* the stream exceeded memtap's limit (room.h) */
};

/* Return 0 or a negative errno. */
int mt_new_file_open(struct mt_new_file *file, const char *path, unsigned how);

/* The error of a file that would exceed the limit, for mt_output_error. */
#define MT_OUTPUT_FULL (-EMSGSIZE)

/* Return a stream to the file, closed by mt_new_file_close; NULL: see errno. */
FILE *mt_new_file_stream(struct mt_new_file *file);

/* Give the complete file its name, or discard it. Both close it. */
int mt_new_file_keep(struct mt_new_file *file);
void mt_new_file_drop(struct mt_new_file *file);

/* Close the stream (NULL: it could not be opened). Keep the file if rc is 0 and everything was
 * written, else discard it. Return 0, rc, or a negative errno. */
int mt_new_file_close(struct mt_new_file *file, FILE *out, int rc);

/* Open a file for appending, creating it if it is missing. Return a descriptor or a negative errno.
 */
int mt_append_open(const char *path);

/* Create the missing folders of a path: "/some/folder/" of "/some/folder/file". Return 0 or a
 * negative errno. */
int mt_make_folders(const char *path);

/* Check an output that is written in place, such as a database or a folder. Return 0, also if it is
 * missing, or a negative errno. */
int mt_check_output(const char *path);

/* Return the message for an error of these functions: errno's or memtap's own. */
const char *mt_output_error(int rc);

/* Open an anonymous file in a folder (or, if that fails, in /tmp) for writing and reading. It
 * disappears with its last descriptor. NULL: see errno. */
FILE *mt_unnamed_file(const char *folder);

#endif
