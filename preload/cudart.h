/* SPDX-License-Identifier: Apache-2.0 */
/* Which CUDA runtime a caller means: two of different versions may be loaded, and each keeps its
 * own errors and current device. */
#ifndef MT_PRELOAD_CUDART_H
#define MT_PRELOAD_CUDART_H

#include <stddef.h>

struct mt_cudart {
    unsigned (*malloc)(void **address, size_t size);
    unsigned (*free)(void *address);
    unsigned (*get_device)(int *device); /* NULL: there is none */
};

/* The runtime that the module of this return address is linked to, else any that is loaded; NULL:
 * none. It stays. Takes the loader's lock at a caller's first call. */
const struct mt_cudart *mt_cudart_of(const void *caller);

/* For a forked child. */
void mt_cudart_reset(void);

#endif
