/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of a compact copy about turns of the program's loop (analyzer/turns/turns.h), for
 * whole.c: functions as in its table. Numbers of events are the copy's. */
#ifndef MT_WHOLE_TURNS_H
#define MT_WHOLE_TURNS_H

#include "replay.h"

/* The program's loop: stack, line, thread, flags (bit 0: it calls modules, 1: its turns are steps,
 * 2: other threads have other numbers of turns; from 8: how many threads), the event that ends it,
 * and the string of ranges that are its turns. */
#define MT_LOOP_NUMBERS 6u
#define MT_LOOP_ENDS (1u << 4) /* bits of the numbers that are events */
bool mt_whole_get_loop(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number);
int mt_whole_take_loop(struct mt_replay *replay, unsigned slot, const uint64_t *number);

/* Its turns: the event that begins each, and whether the loop begins again there. */
#define MT_TURN_NUMBERS 2u
#define MT_TURN_BEGINS (1u << 0)
bool mt_whole_get_turn(const struct mt_replay *replay, unsigned slot, size_t i, uint64_t *number);
int mt_whole_take_turn(struct mt_replay *replay, unsigned slot, const uint64_t *number);

/* A device's spans, cut by these turns: iteration, event, before, most_event, run, calls, called,
 * caller, flags, time_ns, most_time_ns, least, most, left, most_reserved. */
#define MT_TURN_SPAN_NUMBERS 15u
#define MT_TURN_SPAN_PLACES (1u << 1 | 1u << 2 | 1u << 3)
bool mt_whole_get_turn_span(const struct mt_replay *replay, unsigned slot, size_t i,
                            uint64_t *number);
int mt_whole_take_turn_span(struct mt_replay *replay, unsigned slot, const uint64_t *number);
void mt_whole_clear_turn_spans(struct mt_replay *replay, unsigned slot);

#endif
