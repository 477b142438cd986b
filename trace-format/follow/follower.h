/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read a trace while a process writes it, each part once. A block is returned once it counts
 * (FORMAT.md, "The tail"), at most 2 s after its events. After the process has ended, the tail
 * follows, so that all batches together are those of the finished trace. The process itself is not
 * involved.
 */
#ifndef MT_TRACE_FOLLOWER_H
#define MT_TRACE_FOLLOWER_H

#include <stdbool.h>

#include "trace-format/reader.h"

struct mt_follower;

/* Open a trace that is being recorded or has ended. Errors are those of mt_reader_open. */
int mt_follower_open(struct mt_follower **out, const char *path, struct mt_trace_error *error);

/* Return as mt_reader_next does, and also 0 if there is nothing new yet (mt_follower_is_over
 * distinguishes the two). -ESTALE: the recording keeps only its newest events and dropped some
 * before they were read. Nothing more is returned; *error says so. Open the trace again. */
int mt_follower_next(struct mt_follower *follower, struct mt_batch *batch,
                     struct mt_trace_error *error);

/* Return whether the recording has ended and everything was returned. */
bool mt_follower_is_over(const struct mt_follower *follower);

/* Return how the recording ended; MT_TRACE_RUNNING if it has not. */
enum mt_trace_state mt_follower_state(const struct mt_follower *follower);

void mt_follower_close(struct mt_follower *follower);

#endif
