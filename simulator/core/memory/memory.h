/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a program allocates by size, each allocation with its range of addresses. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "../base/base.h"

enum sim_kind {
    SIM_DEVICE = 1,     /* cudaMalloc and its kin */
    SIM_MANAGED = 2,    /* cudaMallocManaged: counted on the device that was current */
    SIM_HOST = 4,       /* page-locked memory that we allocated */
    SIM_REGISTERED = 8, /* page-locked memory of the program */
    SIM_RESERVED = 16,  /* addresses without memory: cuMemAddressReserve */
};

/* The place that a range comes from and returns to. */
enum sim_place { SIM_ALONE, SIM_IN_SLAB, SIM_IN_POOL, SIM_IN_GRAPH, SIM_OPENED, SIM_EXTERNAL };

struct sim_range {
    uintptr_t start;
    size_t size; /* requested bytes */
    enum sim_kind kind;
    enum sim_place place;
    int device;
    unsigned flags;
    uint64_t id;  /* unique in the process */
    void *inside; /* the object of `place`, or the reservation */
    int file;     /* SIM_ALONE: the file behind its pages; 0: none */
    /* Frees it, if sim_release cannot; NULL: it can. Called with the range lock held. */
    int (*release)(const struct sim_range *range);
};

/*
 * Allocate. Device memory reads as zero, is only committed when touched, and is aligned to 512
 * bytes (small sizes) or 2 MiB. *out is the address. -ENOMEM, or -EINVAL for a size of 0.
 */
SIM_API int sim_allocate(enum sim_kind kind, int device, size_t size, unsigned flags, void **out);
/* Free memory from sim_allocate, if it is of one of `kinds`; else -EINVAL. */
SIM_API int sim_release(void *address, int kinds);
/* Register memory of the program as page-locked. -EINVAL: a part of it is already known. */
SIM_API int sim_register(void *address, size_t size, unsigned flags);
SIM_API int sim_unregister(void *address);
/* Copy the range that contains the address. Return false if there is none. */
SIM_API bool sim_find(const void *address, struct sim_range *range);
/* Free all memory of a device, whose context was destroyed. */
SIM_API void sim_release_all(int device);

#endif
