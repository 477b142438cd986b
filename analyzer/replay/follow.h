/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay of a trace that a process may still write: nothing is read twice. For programs that show
 * a run while it goes on (memtap top).
 *
 *     mt_follow_open(&follow, path, &question, &error);
 *     while (mt_follow_poll(follow, 1 << 20, &error) >= 0 && !mt_follow_is_over(follow))
 *         show(mt_follow_replay(follow)), wait();
 *     mt_follow_close(follow);
 *
 * Events come at most 2 s after they happened. The process is not involved and does not notice.
 * It belongs to one thread at a time.
 */
#ifndef MT_FOLLOW_H
#define MT_FOLLOW_H

#include <stdbool.h>

#include "analyzer/trace/ended.h"
#include "replay.h"

struct mt_follow;

/* Open a trace, whether its recording goes on or has ended; read nothing yet. The caller owns all
 * that the question points to. 0, or a negative errno with *error filled. */
int mt_follow_open(struct mt_follow **out, const char *path, const struct mt_question *question,
                   struct mt_trace_error *error);

/* Read and replay new events, up to about `most`. Return 1: there were some, and there may be more;
 * 0: nothing new. Or a negative errno with *error filled (empty text: out of memory): everything
 * before it was replayed, and nothing more comes.
 *
 * If a bounded recording (--keep) dropped events before they were read, the replay begins anew with
 * the kept ones. */
int mt_follow_poll(struct mt_follow *follow, size_t most, struct mt_trace_error *error);

/* Return the replay, after the last read event. The caller may number its spans
 * (mt_spans_number). */
struct mt_replay *mt_follow_replay(struct mt_follow *follow);

/* Return how often the replay began anew: earlier results from it are invalid. */
unsigned mt_follow_restarts(const struct mt_follow *follow);

/* Return whether a process still wrote the trace at the last poll. */
bool mt_follow_is_live(const struct mt_follow *follow);

/* Return whether the recording has ended and was read to its end; and how it ended, as far as
 * known. */
bool mt_follow_is_over(const struct mt_follow *follow);
struct mt_ended mt_follow_ended(const struct mt_follow *follow);

void mt_follow_close(struct mt_follow *follow);

#endif
