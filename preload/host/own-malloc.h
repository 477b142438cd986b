/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of libmemtap.so's own, from the kernel. All that the library calls malloc, calloc, realloc
 * and free, zstd included, is linked to these (preload/meson.build, --wrap): the C library's would
 * reserve an arena of 64 MiB of address space for each thread of ours, and hold locks of the
 * host's. What the C library itself allocates (strdup, asprintf) must not be freed by these.
 */
#ifndef MT_PRELOAD_OWN_MALLOC_H
#define MT_PRELOAD_OWN_MALLOC_H

#include <stddef.h>

void *mt_own_malloc(size_t size) __asm__("__wrap_malloc");
void *mt_own_calloc(size_t n, size_t size) __asm__("__wrap_calloc");
void *mt_own_realloc(void *memory, size_t size) __asm__("__wrap_realloc");
void mt_own_free(void *memory) __asm__("__wrap_free");

/* For a forked child: what was allocated stays, the rest is taken anew. */
void mt_own_malloc_reset(void);

#endif
