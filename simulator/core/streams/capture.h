/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture. A capture begins on one stream; others join it when they wait for an event that
 * was recorded in it. Work on these streams becomes nodes of a graph.
 */
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include <errno.h>

#include "graph.h"
#include "stream.h"

enum sim_capture_status { SIM_NOT_CAPTURING, SIM_CAPTURING, SIM_CAPTURE_INVALID };
/* By CUDA's numbers: which threads must not make the calls that a capture forbids. */
enum sim_capture_mode { SIM_CAPTURE_GLOBAL, SIM_CAPTURE_THREAD, SIM_CAPTURE_RELAXED };

/* Begin a capture. graph: add to it, after `before`; NULL: a new graph. -EBUSY: the stream captures
 * already. */
SIM_API int sim_capture_begin(struct sim_stream *stream, enum sim_capture_mode mode,
                              struct sim_graph *graph, struct sim_node *const *before,
                              size_t count);
/* End a capture. *graph is the caller's. -EINVAL: the stream is not capturing; -EPERM: the capture
 * began on another stream; -ESRCH: in another thread; -ECHILD: a stream was not joined; -ECANCELED:
 * the capture was invalidated. After the last two the capture is over. */
SIM_API int sim_capture_end(struct sim_stream *stream, struct sim_graph **graph);
/* Return the capture's id and its graph, or 0 and NULL. */
SIM_API enum sim_capture_status sim_capture_status(const struct sim_stream *stream, uint64_t *id,
                                                   struct sim_graph **graph);
/* Report a call that a capturing stream does not allow. Return whether the stream captures; the
 * capture is then invalid. */
SIM_API bool sim_capture_spoil(struct sim_stream *stream);
/* Report a call, on any stream, that captures forbid. Return whether it invalidates a capture. */
SIM_API bool sim_capture_forbids_slow(void);
SIM_API extern _Atomic int sim_captures_going_on;
static inline bool sim_capture_forbids(void)
{
    return SIM_UNLIKELY(atomic_load_explicit(&sim_captures_going_on, memory_order_relaxed) != 0) &&
           sim_capture_forbids_slow();
}
/* Report a wait for the thread's whole device, which every capture of this device forbids in any
 * mode. Return whether it invalidates them. */
SIM_API bool sim_capture_forbids_waiting(void);
/* Leave the capture: the stream is being destroyed. */
SIM_API void sim_capture_leave(struct sim_stream *stream);
/* Record the event: it represents everything that the stream has captured so far. */
void sim_capture_record(struct sim_event *event, const struct sim_stream *stream);
/* Let the stream wait for the event. -EXDEV: one is in a capture that the other is not in. */
SIM_API int sim_capture_wait(struct sim_stream *stream, const struct sim_event *event);
/* Return whether the stream of the handle captures; the default stream never does. */
static inline bool sim_captures(const void *handle)
{
    return SIM_UNLIKELY((uintptr_t)handle > 2 &&
                        ((const struct sim_stream *)handle)->capture != NULL);
}
/* Add work after the stream's present work. -ENOENT: the stream does not capture. */
SIM_API int sim_capture_add_slow(struct sim_stream *stream, const struct sim_work *work);
static inline int sim_capture_add(struct sim_stream *stream, const struct sim_work *work)
{
    return SIM_UNLIKELY(stream->capture != NULL) ? sim_capture_add_slow(stream, work) : -ENOENT;
}
/* Make the stream's next work wait for these nodes (too: and for its present ones). */
SIM_API int sim_capture_set_tips(struct sim_stream *stream, struct sim_node *const *nodes,
                                 size_t count, bool keep);

#endif
