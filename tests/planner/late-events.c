/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded before the simulated CUDA, on which a stream is always done: says that a stream is not,
 * from late_hold to late_release, of events that are recorded in between. For drive.py, on one
 * thread.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

enum { NOT_READY = 600, STREAMS = 8, EVENTS = 1 << 16 };

struct late_stream {
    void *stream;
    unsigned turn; /* odd: held */
};

struct late_event {
    void *event;
    const struct late_stream *stream; /* NULL: it was not held when the event was recorded */
    unsigned turn;
};

void late_hold(void *stream);
void late_release(void *stream);
int cudaEventRecord(void *event, void *stream);
int cudaEventQuery(void *event);

static struct late_stream streams[STREAMS];
static struct late_event events[EVENTS];

static struct late_stream *stream_of(void *stream)
{
    for (unsigned i = 0; i < STREAMS; i++)
        if (streams[i].stream == stream || !streams[i].stream) {
            streams[i].stream = stream;
            return &streams[i];
        }
    return NULL;
}

static struct late_event *event_of(void *event)
{
    for (size_t i = (size_t)event / 16 % EVENTS;; i = (i + 1) % EVENTS)
        if (events[i].event == event || !events[i].event) {
            events[i].event = event;
            return &events[i];
        }
}

void late_hold(void *stream)
{
    stream_of(stream)->turn |= 1;
}

void late_release(void *stream)
{
    stream_of(stream)->turn += stream_of(stream)->turn & 1;
}

int cudaEventRecord(void *event, void *stream)
{
    static int (*real)(void *, void *);
    const struct late_stream *late = stream ? stream_of(stream) : NULL;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "cudaEventRecord");
    if (late && late->turn & 1)
        *event_of(event) = (struct late_event){event, late, late->turn};
    else
        event_of(event)->stream = NULL;
    return real(event, stream);
}

int cudaEventQuery(void *event)
{
    static int (*real)(void *);
    const struct late_event *late = event_of(event);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "cudaEventQuery");
    return late->stream && late->stream->turn == late->turn ? NOT_READY : real(event);
}
