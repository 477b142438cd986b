/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file: its name, its creation, and checked appending. For the writer only. */
#ifndef MT_PRELOAD_OUTPUT_H
#define MT_PRELOAD_OUTPUT_H

#include "preload/host/own-file.h"
#include "trace-format/author/author.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct mt_output {
    struct mt_own_file file;
    struct mt_author author; /* ours */
    uint64_t size;           /* bytes appended */
    char path[PATH_MAX];
    unsigned next; /* number in the new segment's name */
    size_t shown;  /* where the requested path begins in path */
};

/* Set out->path from the pattern, replacing %p %e %h %r %%. In a job of several processes, a name
 * without %r gets -rankN before .mtap. Return 0 or -ENAMETOOLONG. The path is absolute, because the
 * program may change its directory. Reads the environment. */
int mt_output_name(struct mt_output *out, const char *pattern);

/* Return the path for messages, as in the pattern. */
static inline const char *mt_output_shown(const struct mt_output *out)
{
    return out->path + out->shown;
}

/* Create a new file at out->path. If that name or its tail's exists, add .1, .2 ... before .mtap
 * and print a line on stderr. Return 0, or a negative errno with the last name tried in out->path;
 * -EISDIR if it is a directory, a device or a pipe. */
int mt_output_open(struct mt_output *out);

/* Copy the path of this process's trace. Return its length, or 0 if the process has none or it does
 * not fit. Any thread. */
size_t mt_output_own(char *path, size_t size);

/* Create the file of the trace's next segment under a name of its own. Return 0 or a negative
 * errno. A killed process's leftover of that name is removed; if another file has it, a number is
 * added to the name. */
int mt_output_open_next(const struct mt_output *out, struct mt_output *next);

/* Give the next segment the trace's name. The file with that name becomes the older segment, and
 * the older one is removed. Return 0, or a negative errno with everything unchanged. */
int mt_output_replace(struct mt_output *out, struct mt_output *next);

/* Return whether a process with this pattern may have written the trace of this name (both without
 * their directories), and in *pid which one, 0 if the name does not say. */
bool mt_output_is_like(const char *name, const char *pattern, uint32_t *pid);

/* Truncate the file to that size. Remove the older segment, to make room. */
void mt_output_cut(struct mt_output *out, uint64_t size);
void mt_output_remove_older(const struct mt_output *out);

/* Discard a new segment that was not put in place. */
void mt_output_discard(struct mt_output *next);

/* Append all bytes. Return 0, or a negative errno with the file truncated to its previous size.
 * -ESTALE: the program has closed our descriptor or reuses its number. -EUCLEAN: another process
 * has written to the file. */
int mt_output_append(struct mt_output *out, const void *bytes, size_t size);

void mt_output_close(struct mt_output *out);

#endif
