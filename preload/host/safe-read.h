/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_SAFE_READ_H
#define MT_PRELOAD_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copy size bytes (at most 4096) of this process's memory. Return 0, or -EFAULT if they cannot be
 * read; any address is safe. Makes some system calls; keeps errno. */
int mt_safe_read(const void *address, void *out, size_t size);

/* Keep the process's id, so that reading need not ask for it. The kernel clears this word in a
 * child: it is asked again there. */
void mt_safe_read_keep_pid(_Atomic int *word);

/* Return how many pages in a row can be read, from this address's page on and at most `most`. */
size_t mt_readable_pages(uintptr_t address, size_t most);

/* Read several places in one system call, one behind the other into out. Return how many bytes were
 * read, up to the first unreadable one; 0 if the call is not allowed, or a place is not the user's.
 * Only where the addresses are of data: unlike mt_safe_read, this also reads a device's memory that
 * is mapped. */
struct iovec;
size_t mt_safe_read_many(const struct iovec *from, unsigned n, void *out, size_t size);

/* Read n words from anywhere, MT_SAFE_WORDS in one system call. Return 0 or -EFAULT. */
#define MT_SAFE_WORDS 64u
int mt_safe_read_words(const uint64_t *address, uint64_t *out, unsigned n);

/* Write size bytes. Return 0, or -EFAULT if they cannot be written. */
int mt_safe_write(void *address, const void *bytes, size_t size);

/* Return whether safe reads work just now: they may need two free descriptors. */
bool mt_can_read_safely(void);

#endif
