/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer's own files share: writer.c is the thread, define.c writes definitions,
 * segments.c begins the files of a bounded trace. All of it is the writer's thread's. */
#ifndef MT_WRITER_PARTS_H
#define MT_WRITER_PARTS_H

#include "order.h"
#include "output.h"
#include "preload/live/live.h"
#include "preload/record/intern.h"
#include "preload/record/tail.h"
#include "preload/record/threads.h"
#include "trace-format/encoder.h"
#include "writer.h"

#include <pthread.h>
#include <stdbool.h>

/* A part of a trace that forgets its past: a file that can be read without the others. */
struct mt_trace_part {
    uint64_t base;    /* bytes before its own events */
    uint64_t events;  /* of the trace, before it */
    uint64_t time_ns; /* of the last of these */
    uint64_t carried; /* events that stand for them */
};

struct mt_known_thread {
    uint32_t id, os_thread;
    char name[MT_THREAD_NAME_SIZE];
};

struct mt_writer {
    _Atomic uint32_t is_open, is_done; /* futexes */
    const struct mt_writer_info *info;
    _Atomic int stop;
    bool is_running; /* it could be made */
    struct mt_output output;
    struct mt_encoder *encoder;
    struct mt_order order;
    struct mt_intern_position known; /* definitions in the file */
    struct mt_tail_mark mark;        /* how far the file has got */
    uint64_t start_ns, events, lost, last_ns;
    struct mt_live *live;          /* NULL: all is kept */
    struct mt_trace_part older, here; /* older: empty, if there is none */
    bool is_beginning;
    int rc; /* a segment is being begun, and how that went */
    struct mt_known_thread *threads;
    size_t n_threads, threads_capacity;
    char left_out[128]; /* as the trace has it */
    pthread_mutex_t working;
};
extern struct mt_writer mt_writer;

/* Writing has failed. Where a segment cannot be begun, the one before goes on. */
void mt_writer_fail(int rc);
static inline bool mt_writer_is_open(void)
{
    return mt_writer.output.file.fd >= 0;
}

void mt_writer_append(const void *bytes, size_t size);
void mt_writer_append_header(uint64_t older_id);
void mt_writer_end_block(void);

/* All that the events collected so far refer to. */
void mt_writer_define(void);
void mt_writer_define_info(void *unused, const char *text, size_t size);
void mt_writer_define_late_info(void *unused, const char *text, size_t size);
/* Threads of the segments before. */
void mt_writer_define_threads(void);

/* All is kept from now on, since a segment could not be begun. */
void mt_writer_keep_all(int rc);
/* Begins a segment where this one is large enough. All that was taken is in it. */
void mt_writer_turn_segment(void);

/* Whether the program's last thread has ended, and its first one before: the process would have
 * ended, too, but for us. */
bool mt_writer_is_alone(void);

#endif
