/* SPDX-License-Identifier: Apache-2.0 */
/* A signal handler may call CUDA, and so our hooks, in the middle of anything. Within a hook, its
 * events are refused (mt_enter). Outside, hold signals back for whatever one thread must not begin
 * twice (locks, the loader, the allocator). */
#ifndef MT_PRELOAD_NO_SIGNALS_H
#define MT_PRELOAD_NO_SIGNALS_H

#include "no-cancel.h"
#include "own-thread.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Block all signals but those for an error in the code itself. */
static inline sigset_t mt_signals_block(void)
{
    static const int errors[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t others, before;
    sigemptyset(&before);
    if (atomic_load_explicit(&mt_is_restricted, memory_order_relaxed))
        return before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        sigdelset(&others, errors[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    return before;
}

static inline void mt_signals_restore(const sigset_t *before)
{
    if (!atomic_load_explicit(&mt_is_restricted, memory_order_relaxed))
        pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* A declaration: no handler of the program runs in this thread, and nobody cancels it, up to the
 * end of the block. */
#define MT_UNINTERRUPTED()                                                                         \
    MT_NO_CANCEL();                                                                                \
    __attribute__((cleanup(mt_signals_restore), unused)) const sigset_t signals_before_ =          \
        mt_signals_block()

#endif
