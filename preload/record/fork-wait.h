/* SPDX-License-Identifier: Apache-2.0 */
/* A fork waits, but not for ever, while threads of ours are inside the loader, or an allocator not
 * made for forks: the child could not use these otherwise. */
#ifndef MT_PRELOAD_FORK_WAIT_H
#define MT_PRELOAD_FORK_WAIT_H

#include "clock.h"

#include <pthread.h>

#define MT_MOST_FORK_WAIT_NS 1000000000
#define MT_FORK_PAUSE_US 100

/* Return 1, or 0 if the lock could not be taken in that time: then release nothing. Not by
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
