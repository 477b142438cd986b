/* SPDX-License-Identifier: Apache-2.0 */
#include "ahead.h"
#include "room.h"

#include <sched.h>
#include <stdbool.h>

/* Hand over the batch and wait until it is accepted; then the previous one is no longer in use, and
 * the reader may reuse it. Return whether to read another. */
static int hand_over(struct mt_ahead *ahead, int rc, const struct mt_batch *batch,
                     const struct mt_trace_error *error)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->rc = rc;
    ahead->batch = *batch;
    ahead->error = *error;
    if (ahead->state == MT_AHEAD_EMPTY)
        ahead->state = MT_AHEAD_FULL;
    pthread_cond_signal(&ahead->changed);
    while (ahead->state == MT_AHEAD_FULL)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    bool more = rc > 0 && ahead->state != MT_AHEAD_STOP;
    pthread_mutex_unlock(&ahead->lock);
    return more;
}

static void *read_ahead(void *data)
{
    struct mt_ahead *ahead = data;
    struct mt_batch batch;
    struct mt_trace_error error;
    int rc;
    mt_room_use(ahead->room);
    do
        rc = mt_reader_next(ahead->reader, &batch, &error);
    while (hand_over(ahead, rc, &batch, &error));
    return NULL;
}

static bool has_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) > 1;
}

void mt_ahead_begin(struct mt_ahead *ahead, struct mt_reader *reader)
{
    *ahead = (struct mt_ahead){.reader = reader, .room = mt_room_of_thread()};
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (has_processors())
        mt_reader_set_batch_size(reader, MT_AHEAD_EVENTS);
    ahead->has_thread =
        has_processors() && !pthread_create(&ahead->thread, NULL, read_ahead, ahead);
}

int mt_ahead_next(struct mt_ahead *ahead, struct mt_batch *batch, struct mt_trace_error *error)
{
    if (!ahead->has_thread)
        return mt_reader_next(ahead->reader, batch, error);
    pthread_mutex_lock(&ahead->lock);
    while (ahead->state == MT_AHEAD_EMPTY)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    int rc = ahead->rc;
    *batch = ahead->batch;
    *error = ahead->error;
    if (rc > 0)
        ahead->state = MT_AHEAD_EMPTY; /* keep the end for another call */
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    return rc;
}

void mt_ahead_end(struct mt_ahead *ahead)
{
    if (ahead->has_thread) {
        pthread_mutex_lock(&ahead->lock);
        ahead->state = MT_AHEAD_STOP;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->thread, NULL);
    }
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
}
