/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses of memory, as the program launches them. Nothing here does anything unless MEMTAP_USES is
 * set. Any thread; errno is kept.
 */
#ifndef MT_USES_USES_H
#define MT_USES_USES_H

#include "trace-format/likely.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The pages of 2 MiB in which CUDA allocated something so far, a bit for each; NULL: uses are not
 * recorded. */
extern _Atomic(uint64_t) *mt_used_pages;

static inline bool mt_uses_are_on(void)
{
    return MT_UNLIKELY(mt_used_pages != NULL);
}

/* Return whether they are to be recorded, also before the settings are read. */
bool mt_uses_are_wanted(void);

/* After the settings were read; in a forked child. */
int mt_uses_start(void);
void mt_uses_reset(void);

/* Note memory of CUDA's, before the program knows its address. */
void mt_uses_note(uint64_t address, uint64_t size) __attribute__((noinline));

/* Record what a kernel is launched on, before its launch. Its parameters are either at
 * parameters[i], or in the buffer of extra; both as the driver has them, and the grid's size. */
void mt_uses_launch(void *function, void **parameters, void **extra, const unsigned grid[3])
    __attribute__((noinline));

/* Record a copy of size bytes, or a fill (from: 0), after the call; and the addresses in what the
 * host copied. */
void mt_uses_copy(uint64_t to, uint64_t from, uint64_t size) __attribute__((noinline));

/* Note that a graph is being captured, or is no longer; that one may be built node by node. */
void mt_uses_capture(bool is_on) __attribute__((noinline));
void mt_uses_graph_made(void);
/* Record that a graph is launched. */
void mt_uses_graph_launch(void);
/* Record work whose memory is not known. The name is static. */
void mt_uses_unseen(const char *name);

/* Forget the layouts of kernels: code was unloaded. */
void mt_uses_forget_kernels(void) __attribute__((noinline));

#endif
