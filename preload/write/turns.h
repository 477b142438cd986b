/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer without a thread of its own (MEMTAP_THREAD=0, or there may be none): the program's
 * calls do its work, in turns. A turn takes at most MT_TURN_EVENTS events, on a stack of ours; it
 * comes when a thread has put a piece of its ring (mt_ring_piece), which is smaller than a turn's
 * work. Nobody waits for another one's turn unless its ring is full.
 */
#ifndef MT_PRELOAD_TURNS_H
#define MT_PRELOAD_TURNS_H

#include <stdint.h>

#define MT_TURN_EVENTS 16384u

/* Begin the trace, and take turns from now on: 0 or -ENOMEM. */
int mt_turns_begin(void);

/* Take turns from now on: the writer's thread has left the trace as it is. */
void mt_turns_go_on(void);

/* Write the rest, and close the trace. Return 0, or -EAGAIN: another thread's turn did not end
 * within so long. */
int mt_turns_finish(uint64_t most_ns);

/* For a forked child. */
void mt_turns_reset(void);

#endif
