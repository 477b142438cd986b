/* SPDX-License-Identifier: Apache-2.0 */
/* Locks with a bounded wait: a thread may be stopped while it holds one (by a debugger, a cgroup's
 * freezer, an overloaded processor). */
#ifndef MT_PRELOAD_LOCK_H
#define MT_PRELOAD_LOCK_H

#include "clock.h"
#include "preload/host/futex.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#define MT_MOST_LOCK_WAIT_NS 1000000000
#define MT_LOCK_TURNS 50u /* spins before it sleeps: these locks are held for microseconds */
#define MT_LOCK_PAUSE_US 100
#define MT_LOCK_SLEEP_NS 100000000 /* the thread that is woken may be stopped, too */

struct mt_lock {
    pthread_mutex_t mutex;
    _Atomic uint32_t turns;   /* how often it was released; a futex */
    _Atomic uint32_t waiting; /* threads */
    _Atomic bool is_stuck;    /* a wait timed out: no thread waits again until it is free */
};
#define MT_LOCK_INITIALIZER {.mutex = PTHREAD_MUTEX_INITIALIZER}

/* Return whether the mutex was locked within that time; if not, release nothing.
 * pthread_mutex_timedlock is unsuitable: its clock may be set back meanwhile. */
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

/* Wait for the lock as long as other threads keep releasing it: thousands may want it at once.
 * Return false if one of them has held it for MT_MOST_LOCK_WAIT_NS. */
static inline bool mt_lock_wait(struct mt_lock *lock)
{
    const struct timespec sleep = {0, MT_LOCK_SLEEP_NS};
    uint64_t until = 0;
    uint32_t turns = 0;
    int saved = errno;
    bool is_ours;
    atomic_fetch_add(&lock->waiting, 1);
    for (;;) {
        uint32_t seen = atomic_load(&lock->turns);
        is_ours = mt_try_lock(lock);
        if (is_ours)
            break;
        uint64_t now = mt_now();
        if (!until || turns != seen)
            until = now + MT_MOST_LOCK_WAIT_NS;
        if (now >= until)
            break;
        turns = seen;
        mt_futex(&lock->turns, FUTEX_WAIT, seen, &sleep);
    }
    atomic_fetch_sub(&lock->waiting, 1);
    errno = saved;
    return is_ours;
}

/* Return whether the caller has the lock now. Hold back signals and cancellation around it. */
static inline bool mt_lock(struct mt_lock *lock)
{
    bool is_stuck = atomic_load_explicit(&lock->is_stuck, memory_order_relaxed);
    bool is_ours = mt_try_lock(lock) || (!is_stuck && mt_lock_wait(lock));
    if (is_stuck == is_ours)
        atomic_store_explicit(&lock->is_stuck, !is_ours, memory_order_relaxed);
    return is_ours;
}

static inline void mt_unlock(struct mt_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
    atomic_fetch_add(&lock->turns,
                     1); /* before `waiting`: a waiter counts itself and then reads this */
    if (!atomic_load(&lock->waiting))
        return;
    int saved = errno;
    mt_futex(&lock->turns, FUTEX_WAKE, 1, NULL);
    errno = saved;
}

/* Reset in a forked child: a thread that does not exist there may hold it. */
static inline void mt_lock_reset(struct mt_lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
    atomic_store(&lock->waiting, 0);
    atomic_store(&lock->is_stuck, false);
}

#endif
