/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that the program names itself, through NVTX or memtap.h: they record its ranges, marks and
 * named allocations. Nothing is recorded before the process's first CUDA event: a range alone does
 * not start a recording. Any thread; texts are copied; NULL is the empty text. errno is kept.
 */
#ifndef MT_PRELOAD_RANGES_H
#define MT_PRELOAD_RANGES_H

#include <stdint.h>

/* Push a range of a thread. Ranges nest per domain; NULL is the program's. */
void mt_range_push(const char *domain, const char *name);
void mt_range_pop(const char *domain);

/* Start a range, which may end in another thread and overlap others. number is not 0. */
void mt_range_start(uint64_t number, const char *domain, const char *name);
void mt_range_end(uint64_t number);

void mt_range_mark(const char *domain, const char *name);

/* Name the memory at this address from now on. */
void mt_range_name(const void *address, const char *name);

#endif
