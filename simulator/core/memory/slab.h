/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small allocations, cut from pages of 2 MiB in units of 512 bytes, as the driver does. Everything
 * needs the range lock.
 */
#ifndef SIM_SLAB_H
#define SIM_SLAB_H

#include "memory.h"

enum { SIM_SMALL = 1 << 20 }; /* sizes below this are small */

struct sim_slab;

/* Take `size` bytes from a slab of the device, or from a new one. -ENOMEM. */
int sim_slab_take(int device, size_t size, struct sim_slab **slab, uintptr_t *address);
/* Give them back, cleared; an empty slab goes back to the device. */
void sim_slab_give(struct sim_slab *slab, uintptr_t address, size_t size);

/* Return the slab's page, and the file behind it: -1: none, or the stored one. */
uintptr_t sim_slab_start(const struct sim_slab *slab);
int *sim_slab_file(struct sim_slab *slab);

#endif
