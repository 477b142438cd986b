/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of traces that belong to a history.
 */
#ifndef MT_TRACE_COPY_H
#define MT_TRACE_COPY_H

#include <limits.h>

/* Copy a trace with its older segment and its tail into a folder, under a name with a part of the
 * checksum. Create the folder if it is missing. out gets the absolute path. A copy is whole or
 * absent, and is not made twice. Return 0 or a negative errno. */
int mt_history_copy_trace(const char *path, const char *folder, const char *checksum,
                          char out[PATH_MAX]);

/* Remove a copy with its older segment and its tail. Return 0, even if it was absent, or a negative
 * errno. */
int mt_history_remove_trace(const char *path);

#endif
