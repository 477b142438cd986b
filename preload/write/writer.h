/* SPDX-License-Identifier: Apache-2.0 */
/* Reads events from the rings, orders them, and writes the trace: in a thread of its own, or in
 * turns (turns.h). */
#ifndef MT_PRELOAD_WRITER_H
#define MT_PRELOAD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Receives a fact about the process, a text of `size` bytes that is valid during the call. */
typedef void mt_info_sink(void *data, const char *text, size_t size);

/* The facts for the writer, called in its thread (info.h). */
struct mt_writer_info {
    void (*collect)(uint64_t start_ns, mt_info_sink *sink, void *data);
    void (*collect_changes)(mt_info_sink *sink, void *data);
    void (*collect_late)(mt_info_sink *sink, void *data);
};

/* Start the thread, with all signals blocked, or without a thread (turns) create the trace. Return
 * 0 or a negative errno. info must stay valid. */
int mt_writer_start(const struct mt_writer_info *info);

/* Wait, with a timeout, until the trace exists, so that even the first event survives a kill. */
void mt_writer_wait_open(void);

/* Write the rest, close the trace and end the thread. Wait at most 10 s, and print a message if
 * that was not enough. */
void mt_writer_stop(void);

/* Continue without our threads (turns). Return whether they have ended. */
bool mt_writer_leave_thread(void);

/* Return the processor time that writing took so far. Writer only. */
uint64_t mt_writer_cpu_ns(void);

/* Call around a fork (lock.h): the writer pauses between two pieces of work. */
bool mt_writer_hold(void);
void mt_writer_release(void);

/* Call in a forked child, which has no writer thread. */
void mt_writer_reset(void);

#endif
