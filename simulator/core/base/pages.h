/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_PAGES_H
#define SIM_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Map fresh pages that commit nothing until written. `alignment` is a power of two; without
 * `usable` they only keep the addresses. NULL: the machine has no more addresses.
 */
void *sim_pages_map(size_t size, size_t alignment, bool usable);
/* Return pages, aligned to 2 MiB, where the driver would place them (stretches.h), so that an
 * allocator that orders by address decides the same in each run. If these addresses are in use, the
 * system chooses others. `reserves`: for addresses without memory, which are in a separate range,
 * rise from call to call, and are never reused. */
void *sim_pages_in_turn(size_t size, bool reserves);
void sim_pages_unmap(void *address, size_t size);
/* Replace pages by fresh ones. Return 0 or -ENOMEM. */
int sim_pages_renew(void *address, size_t size, bool usable);

/* Allow or forbid the program's access. Return 0 or -ENOMEM. */
int sim_pages_protect(void *address, size_t size, bool usable);

/*
 * Put an unnamed file behind pages, so that other processes can map them too. Their contents are
 * kept. *fd is the file, which /proc shows as `name`.
 */
int sim_pages_share(void *address, size_t size, const char *name, int *fd);
/* Create only the file, which reads as zero. Return a negative errno or the descriptor. */
int sim_pages_file(size_t size, const char *name);
/* Write the pages into the file at `offset`: only the parts that are not zero. */
int sim_pages_save(const void *address, size_t size, int fd, size_t offset);
/* Map the file there. Return 0 or -ENOMEM. */
int sim_pages_map_file(void *address, size_t size, int fd, size_t offset, bool usable);

#endif
