/* SPDX-License-Identifier: Apache-2.0 */
/* How the writer sleeps, and how other threads wake it. */
#ifndef MT_PRELOAD_WAKE_H
#define MT_PRELOAD_WAKE_H

#include "preload/host/futex.h"
#include "ring.h"

#include <stdbool.h>

/* Tell the writer that there is work. Async-signal-safe, any thread; keeps errno. If the writer has
 * no thread, the caller does some of the work. */
void mt_writer_wake(void);

/* Call this function, which must keep errno, instead of waking the writer's thread; NULL: wake it.
 */
void mt_wake_by_turns(void (*turn)(void));

/* Sleep until the writer is woken, at most for the period. Return whether the period is over. */
bool mt_wake_wait(const struct timespec *period);

/* Wake the writer and sleep until it has made room in this thread's ring, at most for some ms. May
 * return early. */
void mt_wake_await_room(struct mt_own_ring *ring);

/* Return a ring's words up to `at` to its owner, and wake the owner if it waits and has room now.
 * Writer only. */
void mt_wake_return_room(struct mt_own_ring *ring, uint64_t at);

/* Discard a pending wake. */
void mt_wake_forget(void);

#endif
