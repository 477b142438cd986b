/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmemtap.so's own memory, from the kernel. All calls of malloc, calloc, realloc and free in the
 * library, zstd's included, are linked to these (preload/meson.build, --wrap). The C library's
 * would reserve an arena of 64 MiB of address space for each thread of ours and take the host's
 * locks. Memory that the C library itself allocates (strdup, asprintf) must not be freed by these.
 * Failures keep errno: hooks allocate, too.
 */
#ifndef MT_PRELOAD_OWN_MALLOC_H
#define MT_PRELOAD_OWN_MALLOC_H

#include <stddef.h>

void *mt_own_malloc(size_t size) __asm__("__wrap_malloc");
void *mt_own_calloc(size_t n, size_t size) __asm__("__wrap_calloc");
void *mt_own_realloc(void *memory, size_t size) __asm__("__wrap_realloc");
void mt_own_free(void *memory) __asm__("__wrap_free");

/* Reset in a forked child: keep what was allocated, and start with new slabs. */
void mt_own_malloc_reset(void);

#endif
