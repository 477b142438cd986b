/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_SAFE_READ_H
#define MT_PRELOAD_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies size bytes (at most 4096) of this process's memory: 0, or -EFAULT where they cannot be
 * read, whatever the address is. Some system calls; keeps errno. */
int mt_safe_read(const void *address, void *out, size_t size);

/* Likewise, by a process that knows its own id: asking for it is a system call, too. */
int mt_safe_read_as(int pid, const void *address, void *out, size_t size);

/* How many pages in a row, from the one at this address on and at most so many, can be read. */
size_t mt_readable_pages(uintptr_t address, size_t most);

/* Likewise from several places, to as many of the same sizes, in one system call: how many bytes came,
 * up to the first place that cannot be read. 0 where that call is not allowed. */
struct iovec;
size_t mt_safe_read_many(int pid, const struct iovec *from, const struct iovec *to, unsigned n);

/* Likewise words from all over the memory: MT_SAFE_WORDS in one system call. */
#define MT_SAFE_WORDS 16u
int mt_safe_read_words(const uint64_t *address, uint64_t *out, unsigned n);

/* Writes size bytes likewise: 0, or -EFAULT where they cannot be written. */
int mt_safe_write(void *address, const void *bytes, size_t size);

/* Whether it can be done at all just now: it takes two free descriptors. */
bool mt_can_read_safely(void);

#endif
