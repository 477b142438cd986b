/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Let a thread of another process call a function. The thread is stopped for the time that this
 * takes to decide and to prepare; then it runs by itself: it returns from the function to a signal
 * frame, as the kernel makes one for a signal's handler, and the kernel sets everything back.
 * Whenever memtap is killed, the thread goes on as before, or makes the call and then does.
 */
#ifndef MT_INJECT_H
#define MT_INJECT_H

#include "target.h"

enum mt_inject { MT_INJECTED, MT_NO_PLACE, MT_GONE, MT_NOT_PERMITTED };

/* Try each thread of the process once: those that wait, and if may_run those that do not. One that
 * begins a call such as epoll_wait before it stops, as memtap is killed, gets EINTR from it, as
 * after SIGCONT. If text is not NULL, the function's
 * arguments are a copy of it, and number. */
enum mt_inject mt_inject(struct mt_target *target, uint64_t function, const char *text,
                         uint64_t number, bool may_run);

/* Let threads go that stop late. Call while waiting for something else. */
void mt_inject_release(void);

/* The longest time that a thread was stopped so far, in nanoseconds. */
uint64_t mt_inject_longest_stop(void);

#endif
