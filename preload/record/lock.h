/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that nobody waits for without a limit: a thread may stand still while it holds one (a
 * debugger, a cgroup's freezer, a processor that is busy with others). */
#ifndef MT_PRELOAD_LOCK_H
#define MT_PRELOAD_LOCK_H

#include "clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#define MT_MOST_LOCK_WAIT_NS 1000000000
#define MT_LOCK_TURNS 50u /* before it pauses: what these locks are for takes microseconds */
#define MT_LOCK_PAUSE_US 100

struct mt_lock {
    pthread_mutex_t mutex;
    _Atomic bool is_stuck; /* somebody has waited in vain: nobody waits again before it is free */
};
#define MT_LOCK_INITIALIZER {.mutex = PTHREAD_MUTEX_INITIALIZER}

/* Return whether the mutex could be taken in that time: if not, release nothing. Not by
 * pthread_mutex_timedlock, whose clock may be set back meanwhile. */
static inline bool mt_mutex_within(pthread_mutex_t *mutex, uint64_t most_ns)
{
    uint64_t until = 0, now;
    for (unsigned turn = 0; pthread_mutex_trylock(mutex); turn++) {
        if (turn < MT_LOCK_TURNS) {
            sched_yield();
            continue;
        }
        now = mt_now();
        until = until ? until : now + most_ns;
        if (now >= until)
            return false;
        mt_clock_pause(MT_LOCK_PAUSE_US);
    }
    return true;
}

static inline bool mt_try_lock(struct mt_lock *lock)
{
    return !pthread_mutex_trylock(&lock->mutex);
}

/* Return whether the caller has the lock now. Hold signals and cancellation back around it. */
static inline bool mt_lock(struct mt_lock *lock)
{
    bool is_stuck = atomic_load_explicit(&lock->is_stuck, memory_order_relaxed);
    bool is_ours =
        is_stuck ? mt_try_lock(lock) : mt_mutex_within(&lock->mutex, MT_MOST_LOCK_WAIT_NS);
    if (is_stuck == is_ours)
        atomic_store_explicit(&lock->is_stuck, !is_ours, memory_order_relaxed);
    return is_ours;
}

static inline void mt_unlock(struct mt_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

/* Reset in a forked child: a thread that is gone may hold it. */
static inline void mt_lock_reset(struct mt_lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
    atomic_store(&lock->is_stuck, false);
}

#endif
