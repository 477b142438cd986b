/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_SAFE_READ_H
#define MT_PRELOAD_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copy size bytes (at most 4096) of this process's memory. Return 0, or -EFAULT if they are
 * unreadable; any address is safe. Makes several system calls; keeps errno. */
int mt_safe_read(const void *address, void *out, size_t size);

/* Cache the process's id in a word that the kernel clears in a child, so that reads need not query
 * it. */
void mt_safe_read_keep_pid(_Atomic int *word);

/* Return how many consecutive pages are readable, from this address's page on, at most `most`. */
size_t mt_readable_pages(uintptr_t address, size_t most);

/* Read several places in one system call, one after the other into out. Return the number of bytes
 * read, up to the first unreadable one; 0 if the call is forbidden or an address is not in user
 * space. Only for addresses of data: unlike mt_safe_read, this also reads mapped device memory. */
struct iovec;
size_t mt_safe_read_many(const struct iovec *from, unsigned n, void *out, size_t size);

/* Read n words from any addresses, MT_SAFE_WORDS per system call. Return 0 or -EFAULT. */
#define MT_SAFE_WORDS 64u
int mt_safe_read_words(const uint64_t *address, uint64_t *out, unsigned n);

/* Write size bytes. Return 0, or -EFAULT if they cannot be written. */
int mt_safe_write(void *address, const void *bytes, size_t size);

/* Return whether safe reads work right now: they may need two free descriptors. */
bool mt_can_read_safely(void);

#endif
