/* SPDX-License-Identifier: Apache-2.0 */
/* How the writer sleeps, and how other threads wake it. */
#ifndef MT_PRELOAD_WAKE_H
#define MT_PRELOAD_WAKE_H

#include "preload/host/futex.h"
#include "ring.h"

/* Tell the writer that there is work. Async-signal-safe, any thread; keeps errno. Where it has no
 * thread, the caller does some of the work itself. */
void mt_writer_wake(void);

/* Call this function, which keeps errno, where the writer's thread would be woken; NULL: wake it.
 */
void mt_wake_by_turns(void (*turn)(void));

/* Sleep until somebody wakes the writer, at most for the period. Return whether the period is
 * over. */
int mt_wake_wait(const struct timespec *period);

/* Wake the writer, and sleep until it has made room in this thread's ring, at most for some ms. May
 * end early. */
void mt_room_await(struct mt_own_ring *ring);

/* Give the words of a ring up to `at` back to its owner, and wake it if it waits and has room now.
 * Writer only. */
void mt_room_give(struct mt_own_ring *ring, uint64_t at);

/* Forget the wake: from here on, one counts anew. */
void mt_wake_forget(void);

#endif
