/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace that another file is to take the place of. Its program may live, whatever it looks like:
 * only what has not changed since it was looked at is replaced, and where it is not certain that
 * nobody writes it, it is kept beside.
 */
#ifndef MT_TOOLS_ORIGINAL_H
#define MT_TOOLS_ORIGINAL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define MT_KEPT_SUFFIX ".unrecovered"

struct mt_original {
    char path[PATH_MAX]; /* without symbolic links */
    struct stat trace, tail;
    bool has_tail;
    uint64_t progress; /* of the tail: changes with each event, definition and block */
};

/* Looks at a trace, before it is read: 0, or a negative errno. */
int mt_original_note(struct mt_original *original, const char *path);

/* Whether the same file still has the trace's name. */
bool mt_original_is_there(const struct mt_original *original);

/* Makes an empty file beside it, with its owner and mode, whose name goes to `temporary`: its
 * descriptor, or a negative errno. */
int mt_original_begin(const struct mt_original *original, char temporary[PATH_MAX]);

/* The temporary file takes the trace's name, and the tail goes. Not is_over: both stay, with
 * MT_KEPT_SUFFIX after the trace's name. 0; -EBUSY where the trace has changed; -EEXIST where that
 * name is taken; or another negative errno. Then all is as it was, but for the temporary file. */
int mt_original_replace(const struct mt_original *original, const char *temporary, bool is_over);

#endif
