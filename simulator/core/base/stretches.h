/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_STRETCHES_H
#define SIM_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where the driver places allocations of whole pages of 2 MiB, as on an H100 (driver 580): it
 * reserves stretches of whole 32 MiB from the kernel, each below the previous one, and places an
 * allocation at the lowest free place of the newest stretch with room. The order of addresses
 * matters: PyTorch uses the lowest of equally large free blocks.
 */

/* Allocate a place of `size` bytes, whole pages, below `room`; it is a distance from an address
 * that the caller chooses. Thread-safe. Return false if there is no room. */
bool sim_stretches_take(size_t size, uint64_t room, uint64_t *place);
/* Free a place. Thread-safe. */
void sim_stretches_give(uint64_t place, size_t size);

#endif
