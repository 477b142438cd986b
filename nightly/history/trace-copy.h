/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of traces that belong to a history.
 */
#ifndef MT_TRACE_COPY_H
#define MT_TRACE_COPY_H

#include <limits.h>

/* Copies a trace and what belongs to it (its older segment, its tail) into a folder, which is made
 * where it is missing, under a name that has a part of the checksum; out gets the absolute path. A
 * copy is whole or not there, and is not made twice. 0 or a negative errno. */
int mt_history_copy_trace(const char *path, const char *folder, const char *checksum,
                          char out[PATH_MAX]);

/* Removes such a copy and what belongs to it. 0, also where it was not there, or a negative errno.
 */
int mt_history_remove_trace(const char *path);

#endif
