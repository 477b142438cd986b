/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../device/device.h"

struct sim_capture {
    struct sim_capture *next; /* list of all captures */
    struct sim_stream *origin, *joined;
    struct sim_graph *graph;
    uint64_t id;
    enum sim_capture_mode mode;
    pthread_t thread; /* the thread that began it */
    int device;       /* of its origin, which may be destroyed first */
    bool invalid, borrowed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_capture *captures;
_Atomic int sim_captures_going_on;

/* --- tips: the nodes that come last. Everything needs the lock. -------------------------- */

static int add_tips(struct sim_tips *tips, struct sim_node *const *nodes, size_t count)
{
    struct sim_node **bigger = realloc(tips->nodes, (tips->count + count + 1) * sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    tips->nodes = bigger;
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < tips->count; j++)
            known |= bigger[j] == nodes[i];
        if (!known)
            bigger[tips->count++] = nodes[i];
    }
    return 0;
}

static int set_tips(struct sim_tips *tips, struct sim_node *const *nodes, size_t count)
{
    tips->count = 0;
    return add_tips(tips, nodes, count);
}

static void join(struct sim_capture *capture, struct sim_stream *stream)
{
    stream->next_joined = capture->joined;
    stream->tips.count = 0;
    capture->joined = stream;
    stream->capture = capture;
}

/* --- begin and end ----------------------------------------------------------------------- */

static struct sim_capture *new_capture(struct sim_graph *graph)
{
    struct sim_capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return NULL;
    capture->borrowed = graph;
    capture->graph = graph ? graph : sim_graph_create();
    if (capture->graph)
        return capture;
    free(capture);
    return NULL;
}

int sim_capture_begin(struct sim_stream *stream, enum sim_capture_mode mode,
                      struct sim_graph *graph, struct sim_node *const *before, size_t count)
{
    static uint64_t last_id;
    struct sim_capture *capture = new_capture(graph);
    int error = capture ? 0 : -ENOMEM;
    pthread_mutex_lock(&lock);
    if (!error && stream->capture)
        error = -EBUSY;
    if (!error) {
        capture->id = ++last_id;
        capture->mode = mode;
        capture->thread = pthread_self();
        capture->origin = stream;
        capture->device = stream->device;
        capture->next = captures;
        captures = capture;
        join(capture, stream);
        error = set_tips(&stream->tips, before, count);
        sim_captures_going_on++;
    }
    pthread_mutex_unlock(&lock);
    if (error == -EBUSY && !capture->borrowed)
        sim_graph_destroy(capture->graph);
    if (error == -EBUSY)
        free(capture);
    return error;
}

/* Return whether the stream's last work leads to the origin's last work. */
static bool is_joined(const struct sim_stream *stream, const struct sim_stream *origin)
{
    for (size_t i = 0; i < stream->tips.count; i++) {
        bool found = false;
        for (size_t j = 0; !found && j < origin->tips.count; j++)
            found = sim_node_leads_to(stream->tips.nodes[i], origin->tips.nodes[j]);
        if (!found)
            return false;
    }
    return true;
}

static int check_end(const struct sim_stream *stream)
{
    const struct sim_capture *capture = stream->capture;
    if (!capture)
        return -EINVAL;
    if (capture->origin != stream)
        return -EPERM;
    if (capture->mode != SIM_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return -ESRCH;
    return 0;
}

/* Remove it from the list and free its streams. -ECHILD: one of them was not joined. */
static int close_capture(struct sim_capture *capture)
{
    struct sim_capture **link = &captures;
    int error = 0;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    sim_captures_going_on--;
    for (struct sim_stream *one = capture->joined; one; one = one->next_joined) {
        if (!is_joined(one, capture->origin))
            error = -ECHILD;
        one->capture = NULL;
    }
    return error;
}

int sim_capture_end(struct sim_stream *stream, struct sim_graph **graph)
{
    *graph = NULL;
    pthread_mutex_lock(&lock);
    struct sim_capture *capture = stream->capture;
    int error = check_end(stream);
    if (error) {
        pthread_mutex_unlock(&lock);
        return error;
    }
    error = close_capture(capture);
    pthread_mutex_unlock(&lock);
    if (capture->invalid)
        error = -ECANCELED;
    if (!error)
        *graph = capture->graph;
    else if (!capture->borrowed)
        sim_graph_destroy(capture->graph);
    free(capture);
    return error;
}

enum sim_capture_status sim_capture_status(const struct sim_stream *stream, uint64_t *id,
                                           struct sim_graph **graph)
{
    enum sim_capture_status status = SIM_NOT_CAPTURING;
    *id = 0;
    *graph = NULL;
    if (!stream->capture)
        return status;
    pthread_mutex_lock(&lock);
    const struct sim_capture *capture = stream->capture;
    if (capture) {
        *id = capture->id;
        *graph = capture->graph;
        status = capture->invalid ? SIM_CAPTURE_INVALID : SIM_CAPTURING;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* --- what a capture forbids ------------------------------------------------------------- */

bool sim_capture_spoil(struct sim_stream *stream)
{
    if (!stream->capture)
        return false;
    pthread_mutex_lock(&lock);
    struct sim_capture *capture = stream->capture;
    if (capture)
        capture->invalid = true;
    pthread_mutex_unlock(&lock);
    return capture;
}

/* Return whether a call is affected by a capture: the calling thread's mode says which captures
 * count, and the capture's mode which threads. */
static bool minds(const struct sim_capture *capture)
{
    if (capture->mode == SIM_CAPTURE_RELAXED)
        return false;
    if (pthread_equal(capture->thread, pthread_self()))
        return true;
    return capture->mode == SIM_CAPTURE_GLOBAL && sim_thread.capture_mode == SIM_CAPTURE_GLOBAL;
}

bool sim_capture_forbids_slow(void)
{
    bool forbidden = false;
    if (sim_thread.capture_mode == SIM_CAPTURE_RELAXED)
        return false;
    pthread_mutex_lock(&lock);
    for (struct sim_capture *capture = captures; capture; capture = capture->next)
        if (minds(capture))
            forbidden = capture->invalid = true;
    pthread_mutex_unlock(&lock);
    return forbidden;
}

bool sim_capture_forbids_waiting(void)
{
    bool forbidden = false;
    if (!sim_captures_going_on)
        return false;
    pthread_mutex_lock(&lock);
    for (struct sim_capture *capture = captures; capture; capture = capture->next)
        if (capture->device == sim_thread.device)
            forbidden = capture->invalid = true;
    pthread_mutex_unlock(&lock);
    return forbidden;
}

void sim_capture_leave(struct sim_stream *stream)
{
    struct sim_stream **link;
    if (!stream->capture)
        return;
    pthread_mutex_lock(&lock);
    struct sim_capture *capture = stream->capture;
    for (link = &capture->joined; *link != stream; link = &(*link)->next_joined)
        ;
    *link = stream->next_joined;
    capture->invalid = true;
    pthread_mutex_unlock(&lock);
}

/* --- work -------------------------------------------------------------------------------- */

void sim_capture_record(struct sim_event *event, const struct sim_stream *stream)
{
    if (!stream->capture && !event->capture)
        return;
    pthread_mutex_lock(&lock);
    event->capture = stream->capture ? stream->capture->id : 0;
    event->tips.count = 0;
    if (stream->capture && set_tips(&event->tips, stream->tips.nodes, stream->tips.count))
        stream->capture->invalid = true;
    pthread_mutex_unlock(&lock);
}

static struct sim_capture *capture_of(const struct sim_event *event)
{
    struct sim_capture *capture = captures;
    while (capture && capture->id != event->capture)
        capture = capture->next;
    return capture;
}

int sim_capture_wait(struct sim_stream *stream, const struct sim_event *event)
{
    int error = 0;
    if (!event->capture && !stream->capture)
        return 0;
    pthread_mutex_lock(&lock);
    struct sim_capture *capture = capture_of(event);
    if (!stream->capture && capture)
        join(capture, stream);
    if (stream->capture != capture && event->time) {
        stream->capture->invalid = true;
        error = -EXDEV;
    } else if (capture) {
        error = add_tips(&stream->tips, event->tips.nodes, event->tips.count);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

int sim_capture_add_slow(struct sim_stream *stream, const struct sim_work *work)
{
    struct sim_node *node;
    int error = -ENOENT;
    pthread_mutex_lock(&lock);
    struct sim_capture *capture = stream->capture;
    if (capture && capture->invalid)
        error = -ECANCELED;
    else if (capture)
        error = sim_graph_add(capture->graph, work, stream->tips.nodes, stream->tips.count, &node);
    if (!error)
        error = set_tips(&stream->tips, &node, 1);
    pthread_mutex_unlock(&lock);
    return error;
}

int sim_capture_set_tips(struct sim_stream *stream, struct sim_node *const *nodes, size_t count,
                         bool keep)
{
    pthread_mutex_lock(&lock);
    struct sim_capture *capture = stream->capture;
    int error = capture ? 0 : -EINVAL;
    for (size_t i = 0; !error && i < count; i++)
        if (!nodes[i] || nodes[i]->graph != capture->graph)
            error = -EINVAL;
    if (!error)
        error =
            keep ? add_tips(&stream->tips, nodes, count) : set_tips(&stream->tips, nodes, count);
    pthread_mutex_unlock(&lock);
    return error;
}
