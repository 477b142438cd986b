/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that glibc has and wasi-libc lacks; missing.c defines the functions. Included before
 * every file. */
#ifndef MT_PAGE_GLIBC_H
#define MT_PAGE_GLIBC_H

#include <stddef.h>
#include <sys/types.h>

void qsort_r(void *array, size_t n, size_t size, int (*by)(const void *, const void *, void *),
             void *data);
ssize_t getrandom(void *bytes, size_t size, unsigned flags);
char *realpath(const char *path, char *resolved);
int dup(int fd);

#define ENODATA 4096 /* no errno of WASI */

/* The encoder's blocks are stored: import.c. */
#define ZSTD_createCCtx mt_stored_create
#define ZSTD_freeCCtx mt_stored_free
#define ZSTD_compressCCtx mt_stored_compress

#endif
