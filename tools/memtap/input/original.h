/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace to be replaced by another file. Its program may still be running, whatever the trace
 * says, so replace the trace only if it has not changed since its state was noted. Keep it next to
 * the new one unless its writer has certainly ended.
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
    uint64_t progress; /* the tail's counter, which changes with each event, definition and block */
};

/* Note a trace's state before it is read. Return 0 or a negative errno. */
int mt_original_note(struct mt_original *original, const char *path);

/* Return whether the trace's name still refers to the same file. */
bool mt_original_is_there(const struct mt_original *original);

/* Create an empty file next to the trace, with its owner and mode, and write its name to
 * `temporary`. Return a descriptor or a negative errno. */
int mt_original_begin(const struct mt_original *original, char temporary[PATH_MAX]);

/* Rename the temporary file to the trace's name and delete the tail. Without is_over, keep both,
 * with MT_KEPT_SUFFIX after the trace's name. Return 0, -EBUSY if the trace has changed, -EEXIST if
 * the kept name is in use, or another negative errno. After an error nothing has changed, apart
 * from the temporary file. */
int mt_original_replace(const struct mt_original *original, const char *temporary, bool is_over);

#endif
