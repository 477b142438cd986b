/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer without a thread of its own (MEMTAP_THREAD=0, or if threads are forbidden): the
 * program's calls do its work, in turns. A turn handles at most MT_TURN_EVENTS events, on a stack
 * of ours. It runs when a thread has filled a piece of its ring (mt_ring_piece), which is smaller
 * than a turn's work. A thread waits for another one's turn only if its ring is full.
 */
#ifndef MT_WRITE_TURNS_H
#define MT_WRITE_TURNS_H

#include <stdint.h>

#define MT_TURN_EVENTS 16384u

/* Create the trace and use turns from now on. Return 0 or -ENOMEM. */
int mt_turns_begin(void);

/* Use turns from now on: the writer's thread has left the trace as it is. */
void mt_turns_go_on(void);

/* Write the rest and close the trace. Return 0, or -EAGAIN if another thread's turn did not end in
 * time. */
int mt_turns_finish(uint64_t most_ns);

/* Reset in a forked child. */
void mt_turns_reset(void);

#endif
