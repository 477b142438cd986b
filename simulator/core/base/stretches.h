/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_STRETCHES_H
#define SIM_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where the driver places allocations of whole pages of 2 MiB, as on an H100 (driver 580): it asks
 * the kernel for stretches of whole 32 MiB, each below the one before, and places an allocation at
 * the lowest free place of the newest stretch that has room. The order of addresses matters:
 * PyTorch takes the lowest of equally large free blocks.
 */

/* Take a place of `size` bytes, whole pages, below `room`; it is a distance from an address that
 * the caller chooses. Thread-safe. false: there is no room. */
bool sim_stretches_take(size_t size, uint64_t room, uint64_t *place);
/* Give a place back. Thread-safe. */
void sim_stretches_give(uint64_t place, size_t size);

#endif
