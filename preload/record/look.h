/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of the host's objects that cannot crash. Each costs a system call, and what is looked up
 * lies close together: so a look copies whole pages, and what it reads next is most often there.
 * When it ends, they are forgotten.
 */
#ifndef MT_PRELOAD_LOOK_H
#define MT_PRELOAD_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a look of this thread: 1, or 0 where another thread has one or this one has begun before;
 * then reads go on as they do. Pass the result to mt_look_end. */
int mt_look_begin(void);
void mt_look_end(bool has_begun);

/* Copies size bytes (at most 4096): 0, or -EFAULT where they cannot be read. */
int mt_look_read(uint64_t address, void *out, size_t size);

/* Copies words from all over the memory: MT_SAFE_WORDS in one system call. */
int mt_look_read_words(const uint64_t *address, uint64_t *out, unsigned n);

/* What is read next lies at these addresses: their pages are copied in one system call, so many at most. */
#define MT_LOOK_AHEAD 16u
void mt_look_expect(const uint64_t *address, unsigned n);

/* What all looks took so far: reads and their bytes, also from pages that were copied before, and
 * system calls. */
struct mt_look_work {
    uint64_t reads, bytes, calls;
};
struct mt_look_work mt_look_work(void);

/* For a forked child. */
void mt_look_reset(void);

#endif
