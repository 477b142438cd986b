/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses for many allocations of any size, cut by best fit from long stretches of address space.
 * Nothing is counted here. Everything needs the range lock.
 */
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct sim_block;

struct sim_heap {
    struct sim_block *free;
};

/* Take `size` bytes, a multiple of 512, at *address. NULL: no more addresses. */
struct sim_block *sim_heap_take(struct sim_heap *heap, size_t size, uintptr_t *address);
/* Give them back, cleared. */
void sim_heap_give(struct sim_heap *heap, struct sim_block *block);

#endif
