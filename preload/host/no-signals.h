/* SPDX-License-Identifier: Apache-2.0 */
/* A signal handler may call CUDA, and so our hooks, at any point. Within a hook, its events are
 * refused (mt_enter). Elsewhere, block signals around whatever one thread must not enter twice
 * (locks, the loader, the allocator). */
#ifndef MT_PRELOAD_NO_SIGNALS_H
#define MT_PRELOAD_NO_SIGNALS_H

#include "no-cancel.h"
#include "own-thread.h"

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's set: signal n is bit n - 1. */
#define MT_SIGNAL(n) (UINT64_C(1) << ((n) - 1))
#define MT_SIGNAL_OF_SETUID 33 /* glibc's: it waits for all threads */

/* The signals that are never blocked: those for an error in the code itself, and setuid's. */
#define MT_SIGNALS_LEFT                                                                            \
    (MT_SIGNAL(SIGSEGV) | MT_SIGNAL(SIGBUS) | MT_SIGNAL(SIGFPE) | MT_SIGNAL(SIGILL) |              \
     MT_SIGNAL(SIGTRAP) | MT_SIGNAL(SIGSYS) | MT_SIGNAL(MT_SIGNAL_OF_SETUID))

/* Change the thread's signal mask. pthread_sigmask never blocks the signal that glibc cancels with,
 * which cancels a thread that has disabled cancellation after pthread_cancel checked. */
static inline void mt_signals_mask(int how, const uint64_t *signals, uint64_t *before)
{
    syscall(SYS_rt_sigprocmask, how, signals, before, sizeof *signals);
}

/* Block all signals but MT_SIGNALS_LEFT. */
static inline uint64_t mt_signals_block(void)
{
    const uint64_t others = ~MT_SIGNALS_LEFT;
    uint64_t before = 0;
    if (!atomic_load_explicit(&mt_own_threads_are_restricted, memory_order_relaxed))
        mt_signals_mask(SIG_BLOCK, &others, &before);
    return before;
}

static inline void mt_signals_restore(const uint64_t *before)
{
    if (!atomic_load_explicit(&mt_own_threads_are_restricted, memory_order_relaxed))
        mt_signals_mask(SIG_SETMASK, before, NULL);
}

/* A declaration: up to the end of the block, no signal handler of the program runs in this thread,
 * and it is not cancelled. */
#define MT_UNINTERRUPTED()                                                                         \
    MT_NO_CANCEL();                                                                                \
    __attribute__((cleanup(mt_signals_restore), unused)) const uint64_t signals_before_ =          \
        mt_signals_block()

#endif
