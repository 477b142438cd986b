/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report where a program loops while it waits for a value that a simulated card never computes, and
 * end a run at the user's limits (MEMTAP_LIMIT_TIME, MEMTAP_LIMIT_EVENTS). For the writer only.
 */
#ifndef MT_WRITE_LIMITS_H
#define MT_WRITE_LIMITS_H

#include "trace-format/model.h"

#include <stddef.h>
#include <stdint.h>

/* Note the next events of the trace, of which `before` came earlier. kinds has a bit for each of
 * theirs. */
void mt_limits_note(const struct mt_event *events, size_t n, uint64_t kinds, uint64_t before);

/* End the program if the run is over a limit, given the time since its start and its events. */
void mt_limits_check(uint64_t ns, uint64_t events);

void mt_limits_reset(void);

#endif
