/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that stays one block ahead: a thread reads and decodes the next batch while the last one
 * is in use. With a single processor, or if no thread can be created, it reads in the caller.
 */
#ifndef MT_AHEAD_H
#define MT_AHEAD_H

#include "trace-format/reader.h"

#include <pthread.h>
#include <stdbool.h>

/* Events in a batch. Handing one over costs some microseconds, and its data is in another
 * processor's cache. */
#define MT_AHEAD_EVENTS 16384u

struct mt_ahead {
    struct mt_reader *reader; /* the thread's, if there is one */
    void *room;               /* the account of its memory */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* for the members below */
    pthread_cond_t changed;
    enum { MT_AHEAD_EMPTY, MT_AHEAD_FULL, MT_AHEAD_STOP } state;
    int rc; /* mt_reader_next's result, with batch and error */
    struct mt_batch batch;
    struct mt_trace_error error;
};

/* Begin. The caller keeps ownership of the reader, and must not use it until mt_ahead_end. */
void mt_ahead_begin(struct mt_ahead *ahead, struct mt_reader *reader);

/* Read the next batch as mt_reader_next does. It is valid only until the next call. */
int mt_ahead_next(struct mt_ahead *ahead, struct mt_batch *batch, struct mt_trace_error *error);

void mt_ahead_end(struct mt_ahead *ahead);

#endif
