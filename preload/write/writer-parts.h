/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the writer's own files: writer.c is the thread, define.c writes definitions, segments.c
 * begins the files of a bounded trace. All of it belongs to the writer's thread. */
#ifndef MT_WRITER_PARTS_H
#define MT_WRITER_PARTS_H

#include "order.h"
#include "output.h"
#include "preload/light/light.h"
#include "preload/live/live.h"
#include "preload/record/intern.h"
#include "preload/record/tail.h"
#include "preload/record/threads.h"
#include "trace-format/encoder.h"
#include "writer.h"

#include <pthread.h>
#include <stdbool.h>

/* A part of a bounded trace: a file that can be read without the others. */
struct mt_trace_part {
    uint64_t base;    /* bytes before its own events */
    uint64_t events;  /* of the trace, before it */
    uint64_t time_ns; /* of the last of them */
    uint64_t carried; /* events in their place */
};

struct mt_known_thread {
    uint32_t id, os_thread;
    char name[MT_THREAD_NAME_SIZE];
};

struct mt_writer {
    _Atomic uint32_t is_open, is_done; /* futexes; is_done: the thread ends, or the trace did */
    const struct mt_writer_info *info;
    _Atomic int stop;
    _Atomic bool is_left; /* stop, but leave the trace as it is */
    bool is_running;      /* the thread exists */
    struct mt_output output;
    struct mt_encoder *encoder;
    struct mt_order order;
    struct mt_intern_position known; /* definitions in the file */
    struct mt_tail_mark mark;        /* how far the file has got */
    struct mt_tail_mark committed;   /* the same, as the tail says it */
    int is_short;                    /* the errno: there is no room, and nothing is written */
    uint64_t unwritten;              /* events, meanwhile */
    uint64_t tried_ns;               /* to begin a segment, meanwhile */
    bool has_said_short;
    uint64_t start_ns, last_ns;
    struct {
        uint64_t events, lost; /* of the trace */
        uint64_t passed;       /* events, with those that were lost before */
    } so_far, at_commit;
    struct mt_live *live;             /* NULL: keep all */
    struct mt_light *light;           /* NULL: tell all */
    uint64_t seen;                    /* events, also those that are not told */
    bool has_request;                 /* of memtap save, whose iterations go on */
    bool is_gathering;                /* a window is being told: all of it is committed at once */
    struct mt_trace_part older, here; /* older: empty if there is none */
    bool is_beginning;
    int rc; /* is_beginning: a segment is being begun; rc: its result */
    struct mt_known_thread *threads;
    size_t n_threads, threads_capacity;
    char left_out[128];   /* as in the trace */
    uint64_t most_events; /* to write in one drain */
    uint64_t cpu_ns;      /* taken by turns (turns.h), before cpu_begin_ns of this thread's time */
    uint64_t cpu_begin_ns;
    pthread_mutex_t working;
    _Atomic unsigned n_forks; /* that wait for it */
};
extern struct mt_writer mt_writer;
extern _Thread_local bool mt_is_writer __attribute__((tls_model("initial-exec"))); /* now */

/* Writing has failed. If it was beginning a segment, the one before goes on. */
void mt_writer_fail(int rc);
static inline bool mt_writer_is_open(void)
{
    return mt_writer.output.file.fd >= 0;
}

/* The writer's work, with `working` held: create the trace; take what the rings have; take all of
 * it and close the trace. */
void mt_writer_begin_trace(void);
void mt_writer_drain(bool is_last);
void mt_writer_end_trace(void);

void mt_writer_append(const void *bytes, size_t size);
void mt_writer_append_header(uint64_t older_id);
void mt_writer_end_block(void);

/* Define everything that the events collected so far refer to. */
void mt_writer_define(void);
void mt_writer_define_info(void *unused, const char *text, size_t size);
void mt_writer_define_late_info(void *unused, const char *text, size_t size);
/* Define threads of earlier segments. */
void mt_writer_define_threads(void);

/* Keep everything from now on, because a segment could not be begun. */
void mt_writer_keep_all(int rc);
/* Begin a segment if this one is large enough. All taken events are in it. */
void mt_writer_turn_segment(void);

/* Return whether all of the program's threads have ended: the process would have ended, too, but
 * for us. */
bool mt_writer_is_alone(void);

/* A bounded trace has no room: go on without writing and count the events, until a segment can be
 * begun. Return whether an error means that; begin; count what was taken since the last commit. */
bool mt_writer_is_shortage(int rc);
void mt_writer_begin_shortage(int rc);
void mt_writer_count_shortage(void);

/* Return whether it is time to try a segment; end the shortage with it. */
bool mt_writer_may_try(void);
void mt_writer_end_shortage(void);

/* Write the loss of a shortage into the segment that is being begun, or take it back. */
void mt_writer_write_shortage(void);
void mt_writer_forget_shortage(void);

/* Take a request of memtap save, before a drain: return whether there is a new one. Answer it after
 * the drain. */
bool mt_writer_take_request(void);
void mt_writer_answer_request(bool is_new);

/* Write an event. Return 0. */
int mt_writer_tell(const struct mt_event *event);

/* Add an event to the window of a light recording; tell the window, before what was taken from the
 * rings is given back. */
void mt_writer_add_to_window(const struct mt_event *event);
void mt_writer_end_window(bool is_last);

#endif
