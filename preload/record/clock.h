/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of events, on CLOCK_MONOTONIC. If the kernel computes that from the processor's counter,
 * so do we: clock_gettime mostly waits until everything before it is done, which the events of a
 * single thread do not need (docs/design/recording.md).
 */
#ifndef MT_PRELOAD_CLOCK_H
#define MT_PRELOAD_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* Times in the trace are multiples of so many ns: what is below is noise, because to record an
 * event takes 15 to 90 ns, 10 to 16 of them to read the processor's counter, out of order; and
 * noise does not compress. Events stand in the order of their times before that. */
#define MT_CLOCK_STEP 64u
#define MT_CLOCK_MOST_STEP 1024u

/* Round a time down for the trace: by less than a step, or less than an eighth of what passed since
 * the time that was written last, up to the largest step. */
static inline uint64_t mt_clock_round(uint64_t ns, uint64_t last_ns)
{
    uint64_t passed = ns - last_ns, step = MT_CLOCK_STEP;
    if (ns < last_ns)
        return ns - ns % MT_CLOCK_STEP;
    while (step < MT_CLOCK_MOST_STEP && passed >= 16 * step)
        step *= 2;
    return ns - (passed & (step - 1));
}

/* The time as a line over the counter. */
struct mt_clock_line {
    uint64_t ticks, ns; /* where it begins */
    uint64_t rate;      /* ns a tick, times 2^32 */
};

extern const struct mt_clock_line *_Atomic mt_clock_line; /* NULL: ask the kernel */

/* More than one thread has had events. */
extern _Atomic int mt_clock_is_shared;

/* The C library's own clock_gettime. A library that makes time for programs (libfaketime) may stop
 * it, so that no wait would end, and unmaps its data at the end. */
extern int (*_Atomic mt_clock_function)(clockid_t clock, struct timespec *out);

/* Find it. Takes the loader's lock; may be called again. */
void mt_clock_find(void);

/* Start once for each recording process, before its first event. */
void mt_clock_start(void);

/* Compare with the kernel's clock, and correct the line without a jump. Writer only; any number of
 * times. */
void mt_clock_adjust(void);

/* Ask the kernel's clock from now on: nobody corrects the line. */
void mt_clock_stop(void);

/* Sleep. Not usleep, for the same reason. Keeps errno, and is no cancellation point. */
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

/* Finish, for events of several threads, everything before it in the program before the counter is
 * read. Processors may read the counter ahead of memory: a thread could seem to free what another
 * one has yet to allocate. */
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
