/* SPDX-License-Identifier: Apache-2.0 */
/* The switch by which memtap start wakes this process (settings/switch.h). */
#ifndef MT_PRELOAD_SWITCH_H
#define MT_PRELOAD_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

/* Create the switch, unless it exists. */
void mt_switch_make(void);

/* Return whether a start is requested that was not taken. Any thread. */
bool mt_switch_is_on(void);

/* Take the request, if there is one: return for how many seconds to record, 0 if without limit.
 * Then answer it with the trace's path, or with "" if it could not be created. NULL: the recording
 * has stopped, and requests made before that are over. */
uint32_t mt_switch_take(void);
void mt_switch_answer(const char *trace);

/* Forget the parent's switch in a forked child. */
void mt_switch_reset(void);

#endif
