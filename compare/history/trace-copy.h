/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of traces owned by a history.
 */
#ifndef MT_TRACE_COPY_H
#define MT_TRACE_COPY_H

#include <limits.h>
#include <stdint.h>

/* Copy a trace with its older segment and its tail into a folder, under a name with a part of the
 * checksum. Create the folder if it is missing. out gets the absolute path. A copy appears
 * atomically, and an existing one is reused. Return 0 or a negative errno. */
int mt_history_copy_trace(const char *path, const char *folder, const char *checksum,
                          char out[PATH_MAX]);

/* Remove a copy with its older segment and its tail, if it is below the folder and was created by
 * mt_history_copy_trace, since a database row may name any file. Return 0, even if it was absent,
 * -EXDEV if it is not such a copy, or another negative errno. */
int mt_history_remove_trace(const char *path, const char *folder);
const char *mt_history_remove_error(int rc);

/* SHA-256 (FIPS 180-4) of files, as sha256sum prints it. */

#define MT_CHECKSUM_TEXT 65 /* hexadecimal, terminated */

/* Hash a file; *size gets its length. copy: a file descriptor to which to copy it, or -1. Return 0
 * or a negative errno. */
int mt_checksum_file(char out[MT_CHECKSUM_TEXT], uint64_t *size, const char *path, int copy);

#endif
