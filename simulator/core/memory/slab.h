/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small allocations, carved out of pages of 2 MiB at 512 bytes like the driver does. Everything
 * needs the range lock.
 */
#ifndef SIM_SLAB_H
#define SIM_SLAB_H

#include "memory.h"

enum { SIM_SMALL = 1 << 20 }; /* sizes below this are small */

struct sim_slab;

/* Takes `size` bytes from a slab of the device, or from a new one. -ENOMEM. */
int sim_slab_take(int device, size_t size, struct sim_slab **slab, uintptr_t *address);
/* Gives them back, cleared; an empty slab goes back to the device. */
void sim_slab_give(struct sim_slab *slab, uintptr_t address, size_t size);

/* The page that holds an address of the slab, and the file behind it: -1, or what is stored. */
uintptr_t sim_slab_start(const struct sim_slab *slab);
int *sim_slab_file(struct sim_slab *slab);

#endif
