/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of events, on CLOCK_MONOTONIC. Where the kernel itself makes that of the processor's
 * counter, so do we: clock_gettime's time goes into waiting until all that is before it is done,
 * which a single thread's events need not (docs/design/recording.md).
 */
#ifndef MT_PRELOAD_CLOCK_H
#define MT_PRELOAD_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* The time as a line over the counter. */
struct mt_clock_line {
    uint64_t ticks, ns; /* where it begins */
    uint64_t rate;      /* ns a tick, times 2^32 */
};

extern const struct mt_clock_line *_Atomic mt_clock_line; /* NULL: the kernel is asked */

/* More than one thread has had events. */
extern _Atomic int mt_clock_is_shared;

/* The C library's own clock_gettime: a library that makes time for programs (libfaketime) may stop
 * it, by which nobody could wait, and unmaps what it needs at the end. */
extern int (*_Atomic mt_clock_function)(clockid_t clock, struct timespec *out);

/* Finds that. Takes the loader's lock; any number of times. */
void mt_clock_find(void);

/* Once for each process that records, before its first event. */
void mt_clock_start(void);

/* Compares with the kernel's clock, and corrects the line, without a jump. Writer; any number of
 * times. */
void mt_clock_adjust(void);

/* Sleeps. Not usleep, for the same reason; keeps errno, and is no place to be cancelled at. */
void mt_clock_pause(unsigned us);

/* ns on a clock. */
static inline uint64_t mt_clock(clockid_t clock)
{
    struct timespec now;
    atomic_load_explicit(&mt_clock_function, memory_order_relaxed)(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined __x86_64__
static inline uint64_t mt_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

/* For events of several threads: what is before it in the program is over when the counter is read.
 * Else a thread could seem to free what another one has yet to allocate, since processors read the
 * counter ahead of memory. */
static inline void mt_clock_fence(void)
{
    if (atomic_load_explicit(&mt_clock_is_shared, memory_order_relaxed))
        __builtin_ia32_lfence();
}
#else
static inline uint64_t mt_ticks(void)
{
    return 0;
}

static inline void mt_clock_fence(void)
{
}
#endif

static inline uint64_t mt_clock_on(const struct mt_clock_line *line, uint64_t ticks)
{
    __int128 since = (__int128)(int64_t)(ticks - line->ticks) * (int64_t)line->rate;
    return line->ns + (uint64_t)(since >> 32);
}

/* The time of events; the writer subtracts the start. */
static inline uint64_t mt_now(void)
{
    const struct mt_clock_line *line = atomic_load_explicit(&mt_clock_line, memory_order_acquire);
    return line ? mt_clock_on(line, mt_ticks()) : mt_clock(CLOCK_MONOTONIC);
}

#endif
