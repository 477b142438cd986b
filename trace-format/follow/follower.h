/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read a trace while a process writes it, each part once. A block is given once it counts
 * (FORMAT.md, "The tail"), at most 2 s after its events. After the process's end, the tail follows,
 * so that all batches together are the batches of the finished trace. The process is not asked for
 * anything.
 */
#ifndef MT_TRACE_FOLLOWER_H
#define MT_TRACE_FOLLOWER_H

#include <stdbool.h>

#include "trace-format/reader.h"

struct mt_follower;

/* Open a trace, whether its recording goes on or has ended. Errors as for mt_reader_open. */
int mt_follower_open(struct mt_follower **out, const char *path, struct mt_trace_error *error);

/* Return as mt_reader_next does, but 0 also if nothing new is there yet (mt_follower_is_over says
 * which). -ESTALE: the recording keeps its newest events only and dropped some that were not read.
 * Nothing more is given, and *error says so: open it anew. */
int mt_follower_next(struct mt_follower *follower, struct mt_batch *batch,
                     struct mt_trace_error *error);

/* Return whether the recording has ended and all of it was given: nothing more will come. */
bool mt_follower_is_over(const struct mt_follower *follower);

/* Return how the recording ended; MT_TRACE_RUNNING: not yet. */
enum mt_trace_state mt_follower_state(const struct mt_follower *follower);

void mt_follower_close(struct mt_follower *follower);

#endif
