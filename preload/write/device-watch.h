/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to ask for the devices' memory (device-memory.h): soon after CUDA has given memory, as often
 * as a pause of 0.1 s allows, on the program's request, and at the end. A thread of its own asks,
 * because NVML's first call may take longer than a ring takes to fill, and loading its library may
 * wait for the host. It first asks after the writer's first look at the rings. For the writer only,
 * except start, hint, request and reset.
 */
#ifndef MT_PRELOAD_DEVICE_WATCH_H
#define MT_PRELOAD_DEVICE_WATCH_H

#include "trace-format/likely.h"
#include "trace-format/model.h"

#include <stdatomic.h>
#include <stdbool.h>

/* NOTED: ask once more after asking and pausing. */
enum mt_watch_state { MT_WATCH_OFF, MT_WATCH_WAITS, MT_WATCH_ASKS, MT_WATCH_NOTED };
extern _Atomic uint32_t mt_watch_state; /* a futex */

void mt_watch_note_slowly(void);

/* Note that CUDA has given memory, or had none left. Any thread, under any lock of the host; almost
 * always one load. Keeps errno. */
static inline void mt_watch_hint(void)
{
    uint32_t state = atomic_load_explicit(&mt_watch_state, memory_order_relaxed);
    if (MT_UNLIKELY(state == MT_WATCH_WAITS || state == MT_WATCH_ASKS))
        mt_watch_note_slowly();
}

/* Make the thread, which waits. Call with the signals blocked that it must not take, and not in the
 * writer: a thread that makes another one allocates from the C library (own-malloc.h). */
void mt_watch_start(void);

/* Ask now, because the program wants it. Any thread. */
void mt_watch_request(void);

/* Note written events, of which some may have changed the use of a device's memory. kinds: a bit
 * for each of theirs. */
void mt_watch_note(const struct mt_event *events, size_t n, uint64_t kinds);

/* Ask for samples of all devices seen so far, if anything changed. Call after writing. Waits for
 * nothing. */
void mt_watch_ask(void);

/* Take the oldest waiting sample, with its time on the events' clock. Return 1, or 0: none. A
 * sample equal to its device's last one is left out. */
int mt_watch_take(struct mt_event *out);

/* Give the next samples even if nothing has changed: a new segment has none yet. */
void mt_watch_forget(void);

/* Take a last sample of all devices, if that takes at most 0.5 s; then ask NVML no more. */
void mt_watch_finish(void);

/* Return whether there is a thread that asks. Writer only. */
bool mt_watch_has_thread(void);

/* Reset in a forked child, which has no such thread. */
void mt_watch_reset(void);

#endif
