/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events. */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include "../base/base.h"

/* The last nodes of a graph in a capture. */
struct sim_tips {
    struct sim_node **nodes;
    size_t count;
};

struct sim_stream {
    int device, priority;
    unsigned flags;
    uint64_t id;
    struct sim_capture *_Atomic capture; /* its capture, or NULL */
    struct sim_stream *next_joined;
    struct sim_tips tips;
};

struct sim_event {
    int device;
    unsigned flags;
    uint64_t capture;      /* the capture that it was recorded in, 0: none */
    struct sim_tips tips;  /* the stream's, at that time */
    _Atomic uint64_t time; /* ms: number of the record; 0: never recorded */
};

/* Return the stream behind a handle: 0, 1 (legacy) and 2 (per thread) are the default stream. */
SIM_API struct sim_stream *sim_stream(void *handle);
SIM_API int sim_stream_create(unsigned flags, int priority, struct sim_stream **out);
SIM_API int sim_stream_destroy(struct sim_stream *stream);
SIM_API int sim_event_create(unsigned flags, struct sim_event **out);
SIM_API void sim_event_destroy(struct sim_event *event);
SIM_API void sim_event_record(struct sim_event *event, const struct sim_stream *stream);
/* Return the time between events. -EINVAL: one of them has no timing; -EAGAIN: one was never
 * recorded. */
SIM_API int sim_event_elapsed(const struct sim_event *from, const struct sim_event *to,
                              float *milliseconds);
SIM_API uint64_t sim_now(void);

/* Events that other processes of the machine can open. */

/* CUDA's 64 bytes. */
struct sim_ipc_event {
    uint32_t magic, pid;
    uint64_t flags;
    char reserved[48];
};

/* Export an event. -EINVAL: it was not created for other processes. */
SIM_API int sim_ipc_export_event(const struct sim_event *event, struct sim_ipc_event *handle);
SIM_API int sim_ipc_open_event(const struct sim_ipc_event *handle, struct sim_event **out);

#endif
