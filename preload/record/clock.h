/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of events, on CLOCK_MONOTONIC. If the kernel computes it from the processor's counter,
 * so do we: clock_gettime usually waits until all earlier instructions are done, which the events
 * of a single thread do not need (docs/design/recording.md).
 */
#ifndef MT_PRELOAD_CLOCK_H
#define MT_PRELOAD_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* Times in the trace are multiples of this many ns. Anything below is noise, which does not
 * compress: recording an event takes 15 to 90 ns, 10 to 16 of them to read the counter, out of
 * order. Events are ordered by their exact times. */
#define MT_CLOCK_STEP 64u
#define MT_CLOCK_MOST_STEP 1024u

/* Round a time down for the trace, by less than a step or an eighth of the time since the last one
 * written, up to the largest step. */
static inline uint64_t mt_clock_round(uint64_t ns, uint64_t last_ns)
{
    uint64_t passed = ns - last_ns, step = MT_CLOCK_STEP;
    if (ns < last_ns)
        return ns - ns % MT_CLOCK_STEP;
    while (step < MT_CLOCK_MOST_STEP && passed >= 16 * step)
        step *= 2;
    return ns - (passed & (step - 1));
}

/* The time as a linear function of the counter. */
struct mt_clock_line {
    uint64_t ticks, ns; /* the start */
    uint64_t rate;      /* ns a tick, times 2^32 */
};

extern const struct mt_clock_line *_Atomic mt_clock_line; /* NULL: use the kernel's clock */

/* More than one thread has had events. */
extern _Atomic int mt_clock_is_shared;

/* The C library's own clock_gettime. A library that fakes the time (libfaketime) may stop it, so
 * that no wait would end, and unmaps its data at exit. */
extern int (*_Atomic mt_clock_function)(clockid_t clock, struct timespec *out);

/* Look it up. Takes the loader's lock; may be called repeatedly. */
void mt_clock_find(void);

/* Start; once per recording process, before its first event. */
void mt_clock_start(void);

/* Compare with the kernel's clock and correct the line without a jump. Writer only; call it any
 * number of times. */
void mt_clock_adjust(void);

/* Use the kernel's clock from now on, because nothing corrects the line any more. */
void mt_clock_stop(void);

/* Sleep without usleep, for the same reason. Keeps errno; not a cancellation point. */
void mt_clock_pause(unsigned us);

/* Return a clock's time in ns. */
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

/* If several threads have events, complete all earlier memory accesses before the counter is read.
 * Processors may read the counter ahead of memory: a thread could seem to free what another one has
 * not allocated yet. */
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

/* Return the time for an event; the writer subtracts the start. */
static inline uint64_t mt_now(void)
{
    const struct mt_clock_line *line = atomic_load_explicit(&mt_clock_line, memory_order_acquire);
    return line ? mt_clock_on(line, mt_ticks()) : mt_clock(CLOCK_MONOTONIC);
}

#endif
