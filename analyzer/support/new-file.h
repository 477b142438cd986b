/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that memtap's commands write: every output is opened here.
 *
 * A file appears whole or not at all. Until it is complete it has no name if the file system can do
 * that, else a temporary name beside the path. It then takes the place of an older file, whose mode
 * and owner it gets. A device, a pipe and a socket's file are written to as they are. A symbolic
 * link is followed, but not one that another user may have planted: in a folder that others may
 * write, a link of somebody who owns neither the process nor the folder. Missing folders are made.
 * What guard.h protects is refused: inputs, traces and what belongs to one.
 *
 *     struct mt_new_file file;
 *     int rc = mt_new_file_open(&file, path, 0);
 *     FILE *out = rc ? NULL : mt_new_file_stream(&file);
 *     ...
 *     rc = mt_new_file_close(&file, out, rc);
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
    MT_FILE_PRIVATE = 1,  /* a new file is its owner's alone: copies of traces */
    MT_FILE_ONLY_NEW = 2, /* an older file stays: -EEXIST */
    MT_FILE_IN_PLACE = 4, /* the caller replaces its own input: no guard */
    /* A new file shows what the inputs contain: it grants no more than they do. */
    MT_FILE_AS_INPUTS = 8
};

struct mt_new_file {
    char path[PATH_MAX];      /* without a link at its end */
    char temporary[PATH_MAX]; /* "": no name yet */
    unsigned how;             /* enum mt_new_file_how */
    bool is_direct;           /* the path is a pipe or a device: nothing is renamed */
    int fd;
    uint64_t written; /* bytes, by way of the stream */
    bool is_full;     /* the stream was given more than memtap's limit (room.h) */
};

/* Return 0 or a negative errno. */
int mt_new_file_open(struct mt_new_file *file, const char *path, unsigned how);

/* What a file that would be longer than the limit ends with, for mt_output_error. */
#define MT_OUTPUT_FULL (-EMSGSIZE)

/* Return a stream to the file, to be closed by mt_new_file_close; NULL: errno. */
FILE *mt_new_file_stream(struct mt_new_file *file);

/* Give the complete file its name; or discard it. Both close it. */
int mt_new_file_keep(struct mt_new_file *file);
void mt_new_file_drop(struct mt_new_file *file);

/* Close the stream (NULL: it could not be made). Keep the file if rc is 0 and all was written,
 * else drop it. Return 0, rc, or a negative errno. */
int mt_new_file_close(struct mt_new_file *file, FILE *out, int rc);

/* Open a file, which is made if it is missing, to write at its end. Return a descriptor or a
 * negative errno. */
int mt_append_open(const char *path);

/* Make the missing folders of a path: "/some/folder/" of "/some/folder/file". Return 0 or a
 * negative errno. */
int mt_make_folders(const char *path);

/* Check what is written to as it is, such as a database or a folder: 0, also if it is missing, or a
 * negative errno. */
int mt_check_output(const char *path);

/* Return the words for an error of these functions: those of errno, or memtap's own. */
const char *mt_output_error(int rc);

/* Open a file without a name in a folder (or, where it cannot be made there, in /tmp), to write and
 * read; it goes with its last descriptor. NULL: errno says why not. */
FILE *mt_unnamed_file(const char *folder);

#endif
