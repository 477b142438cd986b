/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_PAGES_H
#define SIM_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Maps fresh pages that commit nothing before they are written. `alignment` is a power of two;
 * without `usable` they only keep the addresses. NULL when the machine has no more addresses.
 */
void *sim_pages_map(size_t size, size_t alignment, bool usable);
/*
 * The same, on 2 MiB, at addresses that rise from call to call and are not used again: what an
 * allocator orders by address is in the order of time then, in each run. Where the addresses are
 * not to be had, the machine chooses them. `reserves`: for stretches without memory, which have
 * addresses of their own.
 */
void *sim_pages_rising(size_t size, bool reserves);
void sim_pages_unmap(void *address, size_t size);
/* Replaces pages by fresh ones. 0 or -ENOMEM. */
int sim_pages_renew(void *address, size_t size, bool usable);

/* Lets the program at them, or keeps it away. 0 or -ENOMEM. */
int sim_pages_protect(void *address, size_t size, bool usable);

/*
 * Puts a file without a name behind pages, so that other processes can map them too; what they hold
 * stays. *fd is the file. It is called `name` in /proc.
 */
int sim_pages_share(void *address, size_t size, const char *name, int *fd);
/* Makes only the file, which reads as zero; a negative errno or the descriptor. */
int sim_pages_file(size_t size, const char *name);
/* Writes what the pages hold into the file at `offset`: the parts that are not zero. */
int sim_pages_save(const void *address, size_t size, int fd, size_t offset);
/* Maps the file there. 0 or -ENOMEM. */
int sim_pages_map_file(void *address, size_t size, int fd, size_t offset, bool usable);

#endif
