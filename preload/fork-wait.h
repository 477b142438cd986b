/* SPDX-License-Identifier: Apache-2.0 */
/* A fork waits, but not for ever, for threads of ours that are in the middle of what the child
 * could not use then: the loader, and an allocator that is not made for forks. */
#ifndef MT_PRELOAD_FORK_WAIT_H
#define MT_PRELOAD_FORK_WAIT_H

#include <pthread.h>
#include <time.h>

#define MT_MOST_FORK_WAIT_S 1

/* 1, or 0 where the lock was not to be had in that time: then nothing is to be released. */
static inline int mt_fork_wait(pthread_mutex_t *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MT_MOST_FORK_WAIT_S;
    return !pthread_mutex_timedlock(lock, &until);
}

#endif
