/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the devices' memory is asked for (device-memory.h): soon after CUDA has given memory, as
 * often as a pause of 0.1 s allows, when the program wants it, and at the end. A thread of its own
 * asks, since NVML's first call may take longer than a ring takes to fill, and its library's
 * loading may wait for the host. It asks for the first time after the writer's first look at the
 * rings. For the writer only, but for start, hint, request and reset.
 */
#ifndef MT_PRELOAD_DEVICE_WATCH_H
#define MT_PRELOAD_DEVICE_WATCH_H

#include "trace-format/likely.h"
#include "trace-format/model.h"

#include <stdatomic.h>
#include <stdbool.h>

/* NOTED: it is to ask once more when it has asked and paused. */
enum mt_watch_state { MT_WATCH_OFF, MT_WATCH_WAITS, MT_WATCH_ASKS, MT_WATCH_NOTED };
extern _Atomic uint32_t mt_watch_state; /* a futex */

void mt_watch_note_slowly(void);

/* CUDA has given memory, or none was left. Any thread, under any lock of the host's; almost always
 * one load. errno is kept. */
static inline void mt_watch_hint(void)
{
    uint32_t state = atomic_load_explicit(&mt_watch_state, memory_order_relaxed);
    if (MT_UNLIKELY(state == MT_WATCH_WAITS || state == MT_WATCH_ASKS))
        mt_watch_note_slowly();
}

/* Makes the thread, which waits. Called with the signals blocked that it must not take, and not by
 * the writer: a thread that makes another one allocates from the C library (own-malloc.h). */
void mt_watch_start(void);

/* The program wants to know: without a pause. Any thread. */
void mt_watch_request(void);

/* This event was written: it may have changed what a device's memory is taken by. */
void mt_watch_note(const struct mt_event *event);

/* Something was written. Asks for samples of all devices seen so far, if anything changed.
 * Waits for nothing. */
void mt_watch_ask(void);

/* The oldest sample that was not taken yet, with its time on the clock of events: 1, or 0 where
 * there is none. One that says what its device's last one said is left out. */
int mt_watch_take(struct mt_event *out);

/* The next samples are given even if nothing has changed: a new segment of the trace has none. */
void mt_watch_forget(void);

/* Takes a last sample of all devices, if that is done within 0.5 s; NVML is not asked again. */
void mt_watch_finish(void);

/* Whether there is a thread that asks. Writer. */
bool mt_watch_has_thread(void);

/* For a forked child, which has no such thread. */
void mt_watch_reset(void);

#endif
