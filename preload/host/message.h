/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_MESSAGE_H
#define MT_PRELOAD_MESSAGE_H

#include <stdbool.h>
#include <sys/types.h>

/* Write one line "memtap: ..." to the host's stderr, in one write. Keeps errno. */
__attribute__((format(printf, 1, 2))) void mt_message(const char *format, ...);

/* Write, as write(2) does, on a thread of the host. A pipe without a reader (SIGPIPE) and a file at
 * its size limit (SIGXFSZ) are errors and send no signal to the host. */
ssize_t mt_write_quietly(int fd, const void *bytes, size_t size);

/* The manifest: a file from which memtap run learns what happened to its program's processes. */

/* Append a text in one write. Any thread. Return whether it is there. */
bool mt_manifest_sign(const char *manifest, const char *text);

/* Open the manifest of memtap run; -1: there is none. Before the settings are read. */
int mt_manifest_open_early(void);

/* Append a text and close it. */
bool mt_manifest_sign_at(int fd, const char *text);

#endif
