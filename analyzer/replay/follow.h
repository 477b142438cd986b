/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay of a trace that a process may still write: what was read is not read again. For whoever shows
 * a run while it goes on (memtap top).
 *
 *     mt_follow_open(&follow, path, &question, &error);
 *     while (mt_follow_poll(follow, 1 << 20, &error) >= 0 && !mt_follow_is_over(follow))
 *         show(mt_follow_replay(follow)), wait();
 *     mt_follow_close(follow);
 *
 * Events come at most 2 s after they happened. The process is not asked for anything and does not notice.
 * It belongs to one thread at a time.
 */
#ifndef MT_FOLLOW_H
#define MT_FOLLOW_H

#include <stdbool.h>

#include "analyzer/trace/ended.h"
#include "replay.h"

struct mt_follow;

/* Opens a trace, whether its recording goes on or has ended; nothing is read yet. What the question points
 * to is the caller's. 0, or a negative errno with *error filled. */
int mt_follow_open(struct mt_follow **out, const char *path, const struct mt_question *question,
                   struct mt_trace_error *error);

/* Reads what is new, up to about so many events, and replays it. 1: something was, and there may be more;
 * 0: nothing is there that was not read. Or a negative errno with *error filled (text empty: out of
 * memory); then everything before it was replayed, and nothing more comes.
 *
 * Where a bounded recording (--keep) dropped events before they were read, the replay begins anew with
 * those that it kept. */
int mt_follow_poll(struct mt_follow *follow, size_t most, struct mt_trace_error *error);

/* The replay, as of the last event that was read. The caller may number its spans (mt_spans_number). */
struct mt_replay *mt_follow_replay(struct mt_follow *follow);

/* How often the replay began anew: what was learned from it before does not hold. */
unsigned mt_follow_restarts(const struct mt_follow *follow);

/* Whether a process wrote it still when it was looked at last. */
bool mt_follow_is_live(const struct mt_follow *follow);

/* Whether the recording has ended and was read to its end; how it ended, so far as is known. */
bool mt_follow_is_over(const struct mt_follow *follow);
struct mt_ended mt_follow_ended(const struct mt_follow *follow);

/* Ends the replay of a recording that is over: it is then as mt_replay leaves it. 0 or -ENOMEM. */
int mt_follow_finish(struct mt_follow *follow);

void mt_follow_close(struct mt_follow *follow);

#endif
