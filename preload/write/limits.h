/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Say where a program that goes round and round waits for a value that a simulated card never
 * computes, and end a run at the user's limits (MEMTAP_LIMIT_TIME, MEMTAP_LIMIT_EVENTS). For the
 * writer only.
 */
#ifndef MT_PRELOAD_LIMITS_H
#define MT_PRELOAD_LIMITS_H

#include "trace-format/model.h"

/* Take the next event of the trace, the number of it. */
void mt_limits_event(const struct mt_event *event, uint64_t number);

/* End the program if the run is over a limit: so long since its start, so many events. */
void mt_limits_check(uint64_t ns, uint64_t events);

void mt_limits_reset(void);

#endif
