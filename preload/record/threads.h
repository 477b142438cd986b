/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that have recorded events, and their rings. */
#ifndef MT_PRELOAD_THREADS_H
#define MT_PRELOAD_THREADS_H

#include "recorder.h"

/* Add the calling thread, with the next id and an empty ring. It stays until it is retired and then
 * dropped. Return NULL if there is no memory, or another thread is stopped while holding the lock
 * (lock.h). */
struct mt_thread *mt_threads_add(pid_t os_thread);

/* Retire a thread that has ended and is in no hook (mt_thread_leave). Its last events may still be
 * in its ring. */
void mt_threads_retire(struct mt_thread *thread);

/* List up to `most` threads in the order of their ids, with the number of all in *n. Only the
 * writer drops threads. Return 0, or -EAGAIN if another thread is stopped while holding the lock.
 */
int mt_threads_list(struct mt_thread **out, size_t most, size_t *n);

/* Return the first thread, for a process that has a copy of this one's memory and no other thread.
 */
struct mt_thread *mt_threads_of_copy(void);

/* Leave a tail that another process has written to, in all threads. Return 0 if there is none, 1 if
 * it was left, or -ENOMEM. Writer only. */
int mt_threads_check_tail(void);

/* Wait, at most 1 s, until no thread is in a hook. Then, when the trace and its tail are closed,
 * take the rings out of the tail, and before the next events put them into the next one: a thread
 * that is in a hook all the time, or has left one by a jump, records without a slot there. Return 0
 * or -ENOMEM. Writer only; nothing is recorded meanwhile. */
void mt_threads_await_hooks(void);
int mt_threads_rest(void);
int mt_threads_resume(void);

/* Free the memory of a retired, drained thread. */
void mt_threads_drop(struct mt_thread *thread);

/* Forget all threads, in a forked child. */
void mt_threads_reset(void);

#endif
