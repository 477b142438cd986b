/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture. A capture begins on one stream; others join it when they wait for an event that
 * was recorded in it. What they are asked to do becomes nodes of a graph.
 */
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include <errno.h>

#include "graph.h"
#include "stream.h"

enum sim_capture_status { SIM_NOT_CAPTURING, SIM_CAPTURING, SIM_CAPTURE_INVALID };
/* By CUDA's numbers: who else may not do what a capture forbids. */
enum sim_capture_mode { SIM_CAPTURE_GLOBAL, SIM_CAPTURE_THREAD, SIM_CAPTURE_RELAXED };

/* graph: to add to, after `before`, or NULL: a new one. -EBUSY: the stream captures already. */
SIM_API int sim_capture_begin(struct sim_stream *stream, enum sim_capture_mode mode,
                              struct sim_graph *graph, struct sim_node *const *before,
                              size_t count);
/*
 * *graph is the caller's. -EINVAL: it captures nothing; -EPERM: the capture began on another
 * stream; -ESRCH: in another thread; -ECHILD: a stream was not joined; -ECANCELED: the capture was
 * spoilt. After the last two it is over.
 */
SIM_API int sim_capture_end(struct sim_stream *stream, struct sim_graph **graph);
/* The capture's id and its graph, or 0 and NULL. */
SIM_API enum sim_capture_status sim_capture_status(const struct sim_stream *stream, uint64_t *id,
                                                   struct sim_graph **graph);
/* Something was called that a capturing stream cannot do: true if it is one. */
SIM_API bool sim_capture_spoil(struct sim_stream *stream);
/* A call that captures forbid, of whatever stream: true if one is going on that it spoils. */
SIM_API bool sim_capture_forbids_slow(void);
SIM_API extern _Atomic int sim_captures_going_on;
static inline bool sim_capture_forbids(void)
{
    return SIM_UNLIKELY(atomic_load_explicit(&sim_captures_going_on, memory_order_relaxed) != 0) &&
           sim_capture_forbids_slow();
}
/* The stream will not exist any more. */
SIM_API void sim_capture_leave(struct sim_stream *stream);
/* The event is recorded: it stands for what the stream has captured so far. */
void sim_capture_record(struct sim_event *event, const struct sim_stream *stream);
/* The stream waits for the event. -EXDEV: one is in a capture that the other is not in. */
SIM_API int sim_capture_wait(struct sim_stream *stream, const struct sim_event *event);
/* The stream of that handle captures; the default stream never does. */
static inline bool sim_captures(const void *handle)
{
    return SIM_UNLIKELY((uintptr_t)handle > 2 &&
                        ((const struct sim_stream *)handle)->capture != NULL);
}
/* Adds work that waits for what the stream has; -ENOENT: the stream does not capture. */
SIM_API int sim_capture_add_slow(struct sim_stream *stream, const struct sim_work *work);
static inline int sim_capture_add(struct sim_stream *stream, const struct sim_work *work)
{
    return SIM_UNLIKELY(stream->capture != NULL) ? sim_capture_add_slow(stream, work) : -ENOENT;
}
/* Work that comes next on the stream waits for those nodes (too: keep what it waits for already).
 */
SIM_API int sim_capture_set_tips(struct sim_stream *stream, struct sim_node *const *nodes,
                                 size_t count, bool keep);

#endif
