/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the devices' memory is asked for (device-memory.h): after CUDA's own memory has changed, and
 * at the end. A thread of its own asks, since NVML's first call may take longer than a ring takes
 * to fill, and its library's loading may wait for the host. For the writer only, but for reset.
 */
#ifndef MT_PRELOAD_DEVICE_WATCH_H
#define MT_PRELOAD_DEVICE_WATCH_H

#include "trace-format/model.h"

/* This event was written: it may have changed what a device's memory is taken by. */
void mt_watch_note(const struct mt_event *event);

/* Something was written. Asks for samples of all devices seen so far, if anything changed; begins
 * the thread at the first time. Waits for nothing. */
void mt_watch_ask(void);

/* The oldest sample that was not taken yet, with its time on the clock of events: 1, or 0 where
 * there is none. One that says what its device's last one said is left out. */
int mt_watch_take(struct mt_event *out);

/* The next samples are given even if nothing has changed: a new segment of the trace has none. */
void mt_watch_forget(void);

/* Takes a last sample of all devices, if that is done within 0.5 s; NVML is not asked again. */
void mt_watch_finish(void);

/* For a forked child, which has no such thread. */
void mt_watch_reset(void);

#endif
