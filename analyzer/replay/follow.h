/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay of a trace that a process may still be writing, for live displays such as memtap top.
 * Nothing is read twice.
 *
 * * * mt_follow_open(&follow, path, &question, &error); while (mt_follow_poll(follow, 1 << 20,
 * &error) >= 0 && !mt_follow_is_over(follow)) show(mt_follow_replay(follow)), wait();
 * mt_follow_close(follow);
 *
 * * * Events arrive at most 2 s after they happened. The process is not involved. A follow belongs
 * to one thread at a time.
 */
#ifndef MT_FOLLOW_H
#define MT_FOLLOW_H

#include <stdbool.h>

#include "analyzer/trace/ended.h"
#include "replay.h"

struct mt_follow;

/* Open a trace, finished or not, without reading it. The caller owns everything that the question
 * points to. Return 0, or a negative errno with *error filled. */
int mt_follow_open(struct mt_follow **out, const char *path, const struct mt_question *question,
                   struct mt_trace_error *error);

/* Read and replay up to about `most` new events. Return 1 if there were some and there may be more,
 * 0 if there was nothing new, or a negative errno with *error filled (empty text: out of memory);
 * everything before the error was replayed, and nothing more follows. * If a bounded recording
 * (--keep) dropped events before they were read, the replay restarts with the kept ones. */
int mt_follow_poll(struct mt_follow *follow, size_t most, struct mt_trace_error *error);

/* Return the replay, after the last read event. The caller may number its spans
 * (mt_spans_number). */
struct mt_replay *mt_follow_replay(struct mt_follow *follow);

/* Return how often the replay has restarted, which invalidates earlier results. */
unsigned mt_follow_restarts(const struct mt_follow *follow);

/* Return whether a process was still writing the trace at the last poll. */
bool mt_follow_is_live(const struct mt_follow *follow);

/* Return whether the recording has ended and was read to its end; and how it ended, as far as
 * known. */
bool mt_follow_is_over(const struct mt_follow *follow);
struct mt_ended mt_follow_ended(const struct mt_follow *follow);

void mt_follow_close(struct mt_follow *follow);

#endif
