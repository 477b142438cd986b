/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace while a process writes it. What was read is not read again: a block is given once it
 * counts (FORMAT.md, "The tail"), which is at most 2 s after its events. When the process has ended, the
 * tail follows, so that all batches together are those that a reader gives of the finished trace.
 * Nothing is asked of the process.
 */
#ifndef MT_TRACE_FOLLOWER_H
#define MT_TRACE_FOLLOWER_H

#include <stdbool.h>

#include "trace-format/reader.h"

struct mt_follower;

/* Open a trace, whether its recording goes on or has ended. As mt_reader_open. */
int mt_follower_open(struct mt_follower **out, const char *path, struct mt_trace_error *error);

/* Return as mt_reader_next, but 0 also where nothing new is there yet (mt_follower_is_over says which).
 * -ESTALE: the recording keeps its newest events only and dropped some that were not read; nothing more
 * is given, and *error says so. Open it anew. */
int mt_follower_next(struct mt_follower *follower, struct mt_batch *batch,
                     struct mt_trace_error *error);

/* Return whether the recording has ended and all of it was given: nothing more will come. */
bool mt_follower_is_over(const struct mt_follower *follower);

/* Return how the recording ended; MT_TRACE_RUNNING: not yet. */
enum mt_trace_state mt_follower_state(const struct mt_follower *follower);

void mt_follower_close(struct mt_follower *follower);

#endif
