/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of the host's objects that cannot crash. Each costs a system call, and objects that are
 * read together are close to each other. So a scan copies the surroundings of what it reads, in
 * which it finds most of its next reads. Its end discards the copies.
 */
#ifndef MT_PRELOAD_LOOK_H
#define MT_PRELOAD_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The pieces of pages that the last scans from one place in the code read. The next scan reads many
 * of them again, and copies them with its first. */
#define MT_SCAN_LAST 128u
struct mt_scan_pieces {
    uint64_t piece[MT_SCAN_LAST]; /* 0: none */
};

/* Begin a scan by this thread. Return 1, or 0 if another thread has one or this one has begun one;
 * reads then work without it. Pass the result to mt_scan_end. */
bool mt_scan_begin(struct mt_scan_pieces *last);
void mt_scan_end(bool has_begun, struct mt_scan_pieces *last);

/* Copy size bytes (at most 4096). Return 0, or -EFAULT if they are unreadable. */
int mt_scan_read(uint64_t address, void *out, size_t size);

/* Copy words from any addresses, MT_SAFE_WORDS per system call. Return 0 or -EFAULT. */
int mt_scan_read_words(const uint64_t *address, uint64_t *out, unsigned n);

/* Copy the pages of the next reads in one system call, at most MT_SCAN_AHEAD. */
#define MT_SCAN_AHEAD 16u
void mt_scan_prefetch(const uint64_t *address, unsigned n);

/* Return whether this thread is scanning, so that prefetching saves system calls. */
bool mt_scan_has_begun(void);

/* The cost of all scans so far: reads and their bytes (also from copied pages), and system calls.
 */
struct mt_scan_work {
    uint64_t reads, bytes, calls;
};
struct mt_scan_work mt_scan_work(void);

/* Reset in a forked child. */
void mt_scan_reset(void);

#endif
