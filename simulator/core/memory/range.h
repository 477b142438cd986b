/* SPDX-License-Identifier: Apache-2.0 */
/* The table of address ranges: sorted by start, no two overlap. Everything needs the lock. */
#ifndef SIM_RANGE_H
#define SIM_RANGE_H

#include "memory.h"

#include <stddef.h>
#include <stdint.h>

void sim_range_lock(void);
void sim_range_unlock(void);
/* Add a range and give it its id. -EEXIST: it overlaps another; -ENOMEM. */
int sim_range_add(struct sim_range range);
/* Return the range that holds the address, or NULL. Valid until the table changes. */
struct sim_range *sim_range_at(uintptr_t address);
void sim_range_remove(struct sim_range *range);
/* Return the ranges in order: 0 .. until NULL. */
struct sim_range *sim_range_number(size_t index);

/*
 * Small allocations, cut from pages of 2 MiB in units of 512 bytes, as the driver does. Everything
 * needs the range lock.
 */

enum { SIM_SMALL = 1 << 20 }; /* sizes up to this are small */

struct sim_slab;

/* Allocate `size` bytes from a slab of the device, or from a new one. -ENOMEM. */
int sim_slab_take(int device, size_t size, struct sim_slab **slab, uintptr_t *address);
/* Free them, cleared; an empty slab returns to the device. */
void sim_slab_give(struct sim_slab *slab, uintptr_t address, size_t size);

/* Return the slab's page, and the file behind it: -1: none, or the stored one. */
uintptr_t sim_slab_start(const struct sim_slab *slab);
int *sim_slab_file(struct sim_slab *slab);

/*
 * Addresses for many allocations of any size, cut by best fit from long stretches of address space.
 * Nothing is counted here. Everything needs the range lock.
 */

struct sim_block;

struct sim_heap {
    struct sim_block *free;
};

/* Allocate `size` bytes, a multiple of 512, at *address. Return NULL if there are no more
 * addresses. */
struct sim_block *sim_heap_take(struct sim_heap *heap, size_t size, uintptr_t *address);
/* Free them, cleared. */
void sim_heap_give(struct sim_heap *heap, struct sim_block *block);

#endif
