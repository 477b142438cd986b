/* SPDX-License-Identifier: Apache-2.0 */
/* What a library takes of the driver for itself, and holds as long as its handle lives. */
#ifndef SIM_OWN_MEMORY_H
#define SIM_OWN_MEMORY_H

#include <stddef.h>

enum { OWN_BLOCKS = 6, OWN_STREAMS = 16 };

struct own_memory {
    size_t device[OWN_BLOCKS]; /* bytes on the current device; 0: none */
    size_t pinned;             /* bytes of the host */
    unsigned streams;
};

/* Take it; *handle holds it. The calling thread has a context: sim_enter(). Return the driver's
 * result. */
int own_memory_take(const struct own_memory *sizes, void **handle);
/* Give it back; NULL holds none. */
void own_memory_give(void *handle);

/* Return the bytes of the workspace that NVIDIA recommends for cuBLAS on the device of the
 * thread's context. */
size_t own_memory_workspace(void);
/* Return what a handle of cuBLAS holds. */
struct own_memory own_memory_of_blas(void);

#endif
