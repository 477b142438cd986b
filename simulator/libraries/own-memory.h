/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a library allocates from the driver for itself, and keeps as long as its handle
 * exists. */
#ifndef SIM_OWN_MEMORY_H
#define SIM_OWN_MEMORY_H

#include <stddef.h>

enum { OWN_BLOCKS = 6, OWN_STREAMS = 16 };

struct own_memory {
    size_t device[OWN_BLOCKS]; /* bytes on the current device; 0: none */
    size_t pinned;             /* bytes of the host */
    unsigned streams;
};

/* Allocate it; *handle owns it. The calling thread has a context (sim_enter). Return the driver's
 * result. */
int own_memory_take(const struct own_memory *sizes, void **handle);
/* Free it; NULL is allowed. */
void own_memory_give(void *handle);

/* Allocate physical memory of a device, which needs no context of the thread, and free it. */
int own_memory_create(int device, size_t bytes, unsigned long long *handle);
void own_memory_release(unsigned long long handle);

/* Return the bytes of the workspace that NVIDIA recommends for cuBLAS on the device of the
 * thread's context. */
size_t own_memory_workspace(void);
/* Return the memory of a cuBLAS handle. */
struct own_memory own_memory_of_blas(void);

#endif
