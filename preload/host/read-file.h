/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_READ_FILE_H
#define MT_PRELOAD_READ_FILE_H

#include <stddef.h>

/* Reads up to size - 1 bytes of a small file and ends them with a NUL: how many; 0: none could. */
size_t mt_read_file(const char *path, char *text, size_t size);

#endif
