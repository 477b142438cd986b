/* SPDX-License-Identifier: Apache-2.0 */
/* A fork waits, but not for ever, for threads of ours that are in the middle of what the child
 * could not use then: the loader, and an allocator that is not made for forks. */
#ifndef MT_PRELOAD_FORK_WAIT_H
#define MT_PRELOAD_FORK_WAIT_H

#include "clock.h"

#include <pthread.h>

#define MT_MOST_FORK_WAIT_NS 1000000000
#define MT_FORK_PAUSE_US 100

/* 1, or 0 where the lock was not to be had in that time: then nothing is to be released. Not by
 * pthread_mutex_timedlock, whose clock may be set back meanwhile. */
static inline int mt_fork_wait(pthread_mutex_t *lock)
{
    uint64_t until = mt_now() + MT_MOST_FORK_WAIT_NS;
    while (pthread_mutex_trylock(lock)) {
        if (mt_now() >= until)
            return 0;
        mt_clock_pause(MT_FORK_PAUSE_US);
    }
    return 1;
}

#endif
