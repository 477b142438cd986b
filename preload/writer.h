/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that takes events from the rings, brings them into order, and writes the trace. */
#ifndef MT_PRELOAD_WRITER_H
#define MT_PRELOAD_WRITER_H

/* Starts the thread, with all signals blocked in it: 0 or a negative errno. */
int mt_writer_start(void);

/* Waits, but not for ever, until there is a trace, so that the first event is safe already. */
void mt_writer_wait_open(void);

/* There is work. Async-signal-safe, any thread. */
void mt_writer_wake(void);

/* Writes what is left, closes the trace and ends the thread. Waits at most 10 s for that, and says
 * so when it was not enough. */
void mt_writer_stop(void);

/* Around a fork (fork-wait.h): the writer is between two pieces of work meanwhile. */
int mt_writer_hold(void);
void mt_writer_release(void);

/* In a forked child: there is no such thread here. */
void mt_writer_reset(void);

#endif
