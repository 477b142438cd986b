/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that is one block ahead: a thread of its own reads and decodes the next batch while the
 * last one is used. Where there is only one processor, or no thread can be had, it does without.
 */
#ifndef MT_AHEAD_H
#define MT_AHEAD_H

#include "trace-format/reader.h"

#include <pthread.h>
#include <stdbool.h>

/* Events in a batch that is handed over: that costs some microseconds, and what is handed over is in
 * the other processor's cache anyway. */
#define MT_AHEAD_EVENTS 16384u

struct mt_ahead {
    struct mt_reader *reader; /* the thread's, where there is one */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    enum { MT_AHEAD_EMPTY, MT_AHEAD_FULL, MT_AHEAD_STOP } state;
    int rc; /* of mt_reader_next, with batch and error */
    struct mt_batch batch;
    struct mt_trace_error error;
};

/* The reader stays the caller's, which must not use it until mt_ahead_end. */
void mt_ahead_begin(struct mt_ahead *ahead, struct mt_reader *reader);

/* As mt_reader_next, but that what it gives lives only until the next call. */
int mt_ahead_next(struct mt_ahead *ahead, struct mt_batch *batch, struct mt_trace_error *error);

void mt_ahead_end(struct mt_ahead *ahead);

#endif
