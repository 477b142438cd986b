/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that takes events from the rings, brings them into order, and writes the trace. */
#ifndef MT_PRELOAD_WRITER_H
#define MT_PRELOAD_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* Gets a text of what a trace says of its process, of `size` bytes; it lives during the call. */
typedef void mt_info_sink(void *data, const char *text, size_t size);

/* Whom the writer asks for these texts, in its own thread (info.h). */
struct mt_writer_info {
    void (*collect)(uint64_t start_ns, mt_info_sink *sink, void *data);
    void (*collect_late)(mt_info_sink *sink, void *data);
};

/* Starts the thread, with all signals blocked in it: 0 or a negative errno. info lives for ever. */
int mt_writer_start(const struct mt_writer_info *info);

/* Waits, but not for ever, until there is a trace, so that the first event is safe already. */
void mt_writer_wait_open(void);

/* Writes what is left, closes the trace and ends the thread. Waits at most 10 s for that, and says
 * so when it was not enough. */
void mt_writer_stop(void);

/* Around a fork (fork-wait.h): the writer is between two pieces of work meanwhile. */
int mt_writer_hold(void);
void mt_writer_release(void);

/* In a forked child: there is no such thread here. */
void mt_writer_reset(void);

#endif
