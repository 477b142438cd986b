/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture. A capture begins on one stream; others join it when they wait for an event that
 * was recorded in it. What a graph keeps is what has an effect when it is launched: the host's
 * callbacks. Kernels do nothing, launched or captured.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core.h"

struct callback {
    struct callback *next;
    void (*function)(void *);
    void *data;
};

struct sim_graph {
    struct callback *first, **last;
    unsigned references; /* the graph's handle, and each executable graph made of it */
};

struct sim_capture {
    struct sim_capture *next; /* among all that are going on */
    struct sim_stream *origin, *joined;
    struct sim_graph *graph;
    uint64_t id;
    bool invalid;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_capture *captures;

struct sim_graph *sim_graph_create(void)
{
    struct sim_graph *graph = calloc(1, sizeof(*graph));

    if (graph) {
        graph->last = &graph->first;
        graph->references = 1;
    }
    return graph;
}

void sim_graph_retain(struct sim_graph *graph)
{
    pthread_mutex_lock(&lock);
    graph->references++;
    pthread_mutex_unlock(&lock);
}

void sim_graph_release(struct sim_graph *graph)
{
    bool last;

    pthread_mutex_lock(&lock);
    last = !--graph->references;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    while (graph->first) {
        struct callback *old = graph->first;

        graph->first = old->next;
        free(old);
    }
    free(graph);
}

void sim_graph_launch(const struct sim_graph *graph)
{
    for (const struct callback *callback = graph->first; callback; callback = callback->next)
        callback->function(callback->data);
}

/* With the lock held. */
static void join(struct sim_capture *capture, struct sim_stream *stream)
{
    stream->next_joined = capture->joined;
    capture->joined = stream;
    stream->capture = capture;
}

int sim_capture_begin(struct sim_stream *stream)
{
    static uint64_t last_id;
    struct sim_capture *capture = calloc(1, sizeof(*capture));
    int error = capture ? 0 : -ENOMEM;

    if (capture)
        capture->graph = sim_graph_create();
    if (!error && !capture->graph)
        error = -ENOMEM;
    pthread_mutex_lock(&lock);
    if (!error && stream->capture)
        error = -EBUSY;
    if (!error) {
        capture->id = ++last_id;
        capture->origin = stream;
        capture->next = captures;
        captures = capture;
        join(capture, stream);
    }
    pthread_mutex_unlock(&lock);
    if (error && capture && capture->graph)
        sim_graph_release(capture->graph);
    if (error)
        free(capture);
    return error;
}

int sim_capture_end(struct sim_stream *stream, struct sim_graph **graph)
{
    struct sim_capture **link = &captures, *capture;

    *graph = NULL;
    pthread_mutex_lock(&lock);
    capture = stream->capture;
    if (!capture || capture->origin != stream) {
        pthread_mutex_unlock(&lock);
        return capture ? -EPERM : -EINVAL;
    }
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    for (struct sim_stream *one = capture->joined; one; one = one->next_joined)
        one->capture = NULL;
    pthread_mutex_unlock(&lock);
    if (capture->invalid)
        sim_graph_release(capture->graph);
    else
        *graph = capture->graph;
    free(capture);
    return *graph ? 0 : -ECANCELED;
}

enum sim_capture_status sim_capture_status(const struct sim_stream *stream, uint64_t *id,
                                           struct sim_graph **graph)
{
    enum sim_capture_status status = SIM_NOT_CAPTURING;
    const struct sim_capture *capture;

    *id = 0;
    *graph = NULL;
    if (!stream->capture)
        return status;
    pthread_mutex_lock(&lock);
    capture = stream->capture;
    if (capture) {
        *id = capture->id;
        *graph = capture->graph;
        status = capture->invalid ? SIM_CAPTURE_INVALID : SIM_CAPTURING;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

bool sim_capture_spoil(struct sim_stream *stream)
{
    struct sim_capture *capture;

    if (!stream->capture)
        return false;
    pthread_mutex_lock(&lock);
    capture = stream->capture;
    if (capture)
        capture->invalid = true;
    pthread_mutex_unlock(&lock);
    return capture;
}

void sim_capture_leave(struct sim_stream *stream)
{
    struct sim_capture *capture;
    struct sim_stream **link;

    if (!stream->capture)
        return;
    pthread_mutex_lock(&lock);
    capture = stream->capture;
    for (link = &capture->joined; *link != stream; link = &(*link)->next_joined)
        ;
    *link = stream->next_joined;
    capture->invalid = true;
    pthread_mutex_unlock(&lock);
}

void sim_capture_wait(struct sim_stream *stream, const struct sim_event *event)
{
    struct sim_capture *capture;

    if (!event->capture)
        return;
    pthread_mutex_lock(&lock);
    for (capture = captures; capture && capture->id != event->capture; capture = capture->next)
        ;
    if (capture && !stream->capture)
        join(capture, stream);
    pthread_mutex_unlock(&lock);
}

int sim_capture_callback(struct sim_stream *stream, void (*function)(void *), void *data)
{
    struct callback *callback;

    if (!stream->capture)
        return -ENOENT;
    callback = calloc(1, sizeof(*callback));
    if (!callback)
        return -ENOMEM;
    *callback = (struct callback){.function = function, .data = data};
    pthread_mutex_lock(&lock);
    *stream->capture->graph->last = callback;
    stream->capture->graph->last = &callback->next;
    pthread_mutex_unlock(&lock);
    return 0;
}
