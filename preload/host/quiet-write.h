/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_QUIET_WRITE_H
#define MT_PRELOAD_QUIET_WRITE_H

#include <sys/types.h>

/* Like write, on a thread of the host: a pipe without a reader (SIGPIPE) and a file at its size
 * limit (SIGXFSZ) are errors and send no signal to the host. */
ssize_t mt_write_quietly(int fd, const void *bytes, size_t size);

#endif
