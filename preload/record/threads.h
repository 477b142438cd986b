/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that have recorded events, and their rings. */
#ifndef MT_PRELOAD_THREADS_H
#define MT_PRELOAD_THREADS_H

#include "recorder.h"

/* Add the calling thread, with the next id and an empty ring; NULL: no memory, or another
 * thread stands still with the lock (lock.h). It stays until it is retired and then dropped. */
struct mt_thread *mt_threads_add(pid_t os_thread);

/* Retire a thread, which has ended and is in no hook (mt_thread_leave); its last events are not
 * taken yet. */
void mt_threads_retire(struct mt_thread *thread);

/* List up to `most` threads in the order of their ids, with the number of all in *n. Only the
 * writer drops them. Return 0, or -EAGAIN: another thread stands still with the lock. */
int mt_threads_list(struct mt_thread **out, size_t most, size_t *n);

/* Leave a tail to which others have written, in all threads. Return 0 if there is none such, 1 if
 * it was left, or -ENOMEM. Writer only. */
int mt_threads_check_tail(void);

/* Free a retired, drained thread's memory. */
void mt_threads_drop(struct mt_thread *thread);

/* Forget all; for a forked child. */
void mt_threads_reset(void);

#endif
