/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to query the devices' memory (device-memory.h): soon after CUDA allocated memory, as often
 * as pauses of 0.1 s allow, on the program's request, and at the end. It has a thread of its own,
 * because NVML's first call may take longer than a ring takes to fill, and loading its library may
 * wait for the host. The first query follows the writer's first scan of the rings. For the writer
 * only, except start, hint, request and reset.
 */
#ifndef MT_PRELOAD_DEVICE_WATCH_H
#define MT_PRELOAD_DEVICE_WATCH_H

#include "trace-format/likely.h"
#include "trace-format/model.h"

#include <stdatomic.h>
#include <stdbool.h>

/* NOTED: query once more after this query and a pause. */
enum mt_watch_state { MT_WATCH_OFF, MT_WATCH_WAITS, MT_WATCH_QUERIES, MT_WATCH_NOTED };
extern _Atomic uint32_t mt_watch_state; /* a futex */

void mt_watch_note_slowly(void);

/* Note that CUDA has allocated memory or had none left. Any thread, under any lock of the host;
 * almost always one load. Keeps errno. */
static inline void mt_watch_hint(void)
{
    uint32_t state = atomic_load_explicit(&mt_watch_state, memory_order_relaxed);
    if (MT_UNLIKELY(state == MT_WATCH_WAITS || state == MT_WATCH_QUERIES))
        mt_watch_note_slowly();
}

/* Create the thread, which waits. Call with the signals blocked that it must not handle, and not in
 * the writer: a thread that creates another one allocates from the C library (own-malloc.h). */
void mt_watch_start(void);

/* Before that: forget an earlier recording, whose threads have ended. */
void mt_watch_renew(void);

/* Query now, because the program requests it. Any thread. */
void mt_watch_request(void);

/* Note written events, some of which may have changed the use of a device's memory. kinds has a bit
 * for each of theirs. */
void mt_watch_note(const struct mt_event *events, size_t n, uint64_t kinds);

/* Request samples of all devices seen so far, if anything changed. Call after writing. Does not
 * wait. */
void mt_watch_request_samples(void);

/* Return 1 and the oldest waiting sample, with its time on the events' clock, or 0. A sample equal
 * to its device's last one is skipped. */
int mt_watch_next(struct mt_event *out);

/* Return the next samples even if nothing has changed: a new segment has none yet. */
void mt_watch_forget(void);

/* Collect a last sample of all devices, and of their pools, if that takes at most 0.5 s; then stop
 * querying NVML. */
void mt_watch_finish(void);

/* Return whether the watching thread exists. Writer only. */
bool mt_watch_has_thread(void);

/* Reset in a forked child, which has no such thread. */
void mt_watch_reset(void);

#endif
