/* SPDX-License-Identifier: Apache-2.0 */
/* The switch by which memtap start wakes this process (trace-format/settings/switch.h). */
#ifndef MT_PRELOAD_SWITCH_H
#define MT_PRELOAD_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

/* Create the switch, unless it exists. */
void mt_switch_make(void);

/* Return whether a start is requested that was not taken. Any thread. */
bool mt_switch_is_on(void);

/* Take the request or the limit, if there is one: for how many seconds and iterations to record, 0:
 * no limit.
 * Then answer it with the trace's path, or with "" if it could not be created. NULL: the recording
 * has stopped, and requests made before that are over. */
struct mt_switch_request {
    uint32_t seconds, iterations;
};
struct mt_switch_request mt_switch_take(void);
void mt_switch_answer(const char *trace);

/* Limit the next recording, unless one runs, where it begins without a request. */
void mt_switch_limit(uint32_t seconds, uint32_t iterations);

/* Stop the recording (mt_recorder_rest) from the writer's thread: note that it stops, and return
 * whether it does; then that the trace is closed and another may begin. */
bool mt_switch_will_rest(void);
void mt_switch_has_rested(void);

/* Forget the parent's switch in a forked child. */
void mt_switch_reset(void);

#endif
