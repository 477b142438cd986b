/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_QUIET_WRITE_H
#define MT_PRELOAD_QUIET_WRITE_H

#include <sys/types.h>

/* As write, on a thread of the host's: a pipe that nobody reads (SIGPIPE) and a file at its limit of
 * size (SIGXFSZ) are errors, and no signals to the host. */
ssize_t mt_write_quietly(int fd, const void *bytes, size_t size);

#endif
