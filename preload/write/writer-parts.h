/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the writer's own files, each of which calls only those before it: state.c and
 * shortage.c; blocks.c writes; define.c writes definitions; segments.c creates the files of a
 * bounded trace; window.c; drain.c reads the rings; trace.c opens and closes the trace; turns.c and
 * writer.c call these, without and with a thread. All of it belongs to the writer's thread. */
#ifndef MT_WRITER_PARTS_H
#define MT_WRITER_PARTS_H

#include "output.h"
#include "preload/live-memory/live.h"
#include "preload/record/intern.h"
#include "preload/record/tail.h"
#include "preload/record/threads.h"
#include "preload/selection/selection.h"
#include "trace-format/encoder.h"
#include "trace-format/meaning/source-blocks.h"
#include "trace-format/model.h"
#include "writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Orders the events of all rings, and the samples of devices, by time. For the writer only. */

struct mt_source {
    struct mt_thread *thread;
    const uint64_t *word;  /* of its ring */
    uint64_t at, end;      /* words of its ring: next to read, end */
    uint64_t last_ns;      /* time of the last event read */
    uint64_t until_ns;     /* no event there is later than this */
    uint64_t next_head;    /* of the event at `at`: what is there may change */
    uint64_t next_time_ns; /* the same event's time; UINT64_MAX: none */
};

/* A source with events, by the time of its next one. */
struct mt_next {
    uint64_t time_ns;
    struct mt_source *source;
};

struct mt_order {
    struct mt_source *source;
    struct mt_thread **thread; /* of each source, as threads.h lists them */
    size_t n, capacity;
    struct mt_next *next; /* a heap: none is older than that at half its place */
    size_t n_next;
    uint64_t horizon_ns;    /* every older event is visible */
    struct mt_event sample; /* the oldest waiting sample (device-watch.h) */
    bool has_sample;
    bool is_hasty;     /* do not wait for a thread that is putting an event */
    uint64_t slotless; /* events of rings that are slotless (tail.h) so far, with lost ones */
};

/* Collect events up to a horizon (is_last: up to the very last event). Return 0 or -ENOMEM. */
int mt_order_collect(struct mt_order *order, bool is_last);

/* Stop reading at the newest moment at which PyTorch had the least allocated on its first device,
 * within the newer half of each ring and within 10 s. Later events wait for the next time. */
void mt_order_hold_back(struct mt_order *order);

/* Read the next collected events in time order, at most `most`. Return their number: fewer if there
 * are no more before the horizon. */
size_t mt_order_read(struct mt_order *order, struct mt_event *out, size_t most);

/* Note in the tail, and in the rings' `safe` of that index (tail.h), that everything read so far is
 * in the trace, and then free its space in the rings. */
void mt_order_note(struct mt_order *order, unsigned index);
void mt_order_free_read(struct mt_order *order);

/* Free everything, and return the rings of ended threads to the kernel. */
void mt_order_release(struct mt_order *order);

/* A part of a bounded trace: a file that can be read without the others. */
struct mt_trace_part {
    uint64_t base;    /* bytes before its own events */
    uint64_t events;  /* of the trace, before it */
    uint64_t time_ns; /* of the last of them */
    uint64_t carried; /* events that replace them */
};

struct mt_known_thread {
    uint32_t id, os_thread;
    char name[MT_THREAD_NAME_SIZE];
};

struct mt_writer {
    /* What other threads read and change. */
    _Atomic uint32_t is_open, is_done; /* futexes; is_done: the thread ends, or the trace did */
    const struct mt_writer_info *info;
    _Atomic int stop;
    _Atomic bool is_left;     /* stop, but leave the trace as it is */
    bool is_running;          /* the thread exists */
    _Atomic unsigned n_forks; /* that wait for `working` */
    pthread_mutex_t working;
    uint64_t rest_ns; /* stop after that time; 0: no limit. Only the writer's, as the next */
    bool has_to_rest; /* a stop was requested */
    /* Only the writer's. Starts a cache line, so that the linker's placement does not matter. */
    MT_BEGIN_LINE struct mt_output output;
    struct mt_encoder *encoder;
    struct mt_order order;
    struct mt_intern_position known;        /* definitions in the file */
    struct mt_tail_mark mark;               /* how far the file has got */
    struct mt_tail_mark committed;          /* the same, as the tail says it */
    struct mt_chain chain, committed_chain; /* of the file's blocks, likewise */
    int is_short;       /* errno while there is no room and nothing is written */
    uint64_t unwritten; /* events meanwhile */
    uint64_t tried_ns;  /* last attempt to create a segment meanwhile */
    bool has_said_short;
    uint64_t start_ns, last_ns;
    struct {
        uint64_t events, lost; /* of the trace */
        uint64_t passed;       /* events, with those that were lost before */
    } so_far, at_commit;
    struct mt_live *live;               /* NULL: keep all */
    struct mt_used_blocks *used;        /* NULL: uses are not recorded */
    struct mt_cuda_blocks *cuda_blocks; /* NULL: none */
    uint32_t shortages;                 /* of PyTorch's allocator, noted by use-events.c */
    struct mt_selection *selection;     /* NULL: record all */
    uint64_t seen;                      /* events, with those not recorded */
    bool has_request;                   /* of memtap save, whose iterations go on */
    bool is_gathering;                  /* a window is being written, which is committed at once */
    struct mt_trace_part older, here;   /* older: empty if there is none */
    bool is_beginning;
    int rc; /* is_beginning: a segment is being created; rc: its result */
    struct mt_known_thread *threads;
    size_t n_threads, threads_capacity;
    char left_out[128];   /* as in the trace */
    uint32_t n_loops;     /* lines whose loops were sought */
    uint64_t most_events; /* to write in one drain */
    uint64_t cpu_ns;      /* used by turns before cpu_begin_ns of this thread's time */
    uint64_t cpu_begin_ns;
    int first_code; /* the exit code that the first thread gave to the kernel itself; 0: none */
};
MT_ASSERT_APART(struct mt_writer, working, output);
extern struct mt_writer mt_writer;
extern _Thread_local bool mt_is_writer __attribute__((tls_model("initial-exec"))); /* now */

/* Set a futex of the writer's, and wake its waiters. */
void mt_writer_set(_Atomic uint32_t *word);

/* Note that writing has failed. If a segment was being created, the previous one continues. */
void mt_writer_fail(int rc);
/* End the recording with a message: what could not be done to the trace ("write"), and why. */
void mt_writer_give_up(int rc, const char *doing);
static inline bool mt_writer_is_open(void)
{
    return mt_writer.output.file.fd >= 0;
}

/* Do the writer's work, with `working` held: create the trace; read the rings; read everything and
 * close the trace. */
void mt_writer_begin_trace(void);
void mt_writer_drain(bool is_last);
void mt_writer_end_trace(void);

/* After the last drain of a recording that was stopped: free what it had, so that another may
 * begin.
 */
void mt_writer_forget(void);

/* Sign memtap run's manifest of traces: texts terminated by zeros; an empty one could not be
 * created. At the end, each trace adds another, with its processor time before the path. */
bool mt_writer_sign_manifest(uint64_t cpu_ns);

void mt_writer_append(const void *bytes, size_t size);
void mt_writer_append_header(uint64_t older_id);
void mt_writer_end_block(void);
/* Commit: everything read is in the file, so free it in the tail. */
void mt_writer_commit(void);

/* Define everything that the events collected so far refer to. */
void mt_writer_define(void);
void mt_writer_define_info(void *unused, const char *text, size_t size);
void mt_writer_define_late_info(void *unused, const char *text, size_t size);
/* Define the threads of earlier segments. */
void mt_writer_define_threads(void);

/* Keep everything from now on, because a segment could not be created. */
void mt_writer_keep_all(int rc);
/* Start a segment if this one is large enough. All events read are in it. */
void mt_writer_turn_segment(void);

/* Return whether all of the program's threads have ended: without us the process would have ended,
 * too. */
bool mt_writer_is_last_thread(void);
/* If the writer is the last thread, end the process with the first thread's exit code, unless that
 * is 0: the kernel uses the last thread's code. Else return the argument. */
void *mt_writer_leave(void *result);

/* Return whether an error means that a bounded trace has no room: continue without writing and
 * count the events until a segment can be created. Then: begin; count what was read since the last
 * commit. */
bool mt_writer_is_shortage(int rc);
void mt_writer_begin_shortage(int rc);
void mt_writer_count_shortage(void);

/* Return whether it is time to try a segment; end the shortage with it. */
bool mt_writer_may_try(void);
void mt_writer_end_shortage(void);

/* Withdraw the loss of a shortage that was to be in a segment. */
void mt_writer_forget_shortage(void);

/* Accept a request of memtap save, before a drain, and answer it after the drain. Return whether
 * there is a new one. */
bool mt_writer_accept_request(void);
void mt_writer_answer_request(bool is_new);

/* Take the holders that a search has found (holders.h), before a drain. Write
 * them after its events. write: events, with a bit for each of their kinds. */
void mt_holder_events_take(void);
void mt_holder_events_write(void (*write)(struct mt_event *events, size_t n, uint64_t kinds));

/* Count iterations, if the recording is to stop after so many (0: it is not): start; note
 * definitions, and events, of which it returns how many are to be written; end; reset in a forked
 * child. */
void mt_iterations_start(uint32_t most);
void mt_iterations_define(const struct mt_definition *definition);
size_t mt_iterations_note(const struct mt_event *events, size_t n);
void mt_iterations_end(void);
void mt_iterations_reset(void);

/* Write the next events, with the uses of blocks that end in front of their frees; write those of
 * live blocks. Only if uses are recorded. */
typedef void mt_write_events(struct mt_event *events, size_t n, uint64_t kinds);
void mt_use_events_write(struct mt_event *events, size_t n, mt_write_events *write);
void mt_use_events_write_live(mt_write_events *write);

/* Write events, overwriting their arguments; write one event, returning 0. */
void mt_writer_put_all(struct mt_event *events, size_t n);
int mt_writer_put(const struct mt_event *event);

/* Add an event to the window of a light recording; write the window, before what was read from the
 * rings is freed. */
void mt_writer_add_to_window(const struct mt_event *event);
void mt_writer_end_window(bool is_last);

/*
 * Report where a program loops while it waits for a value that a simulated card never computes, and
 * end a run at the user's limits (MEMTAP_LIMIT_TIME, MEMTAP_LIMIT_EVENTS). For the writer only.
 */

/* Note the next events of the trace, of which `before` came earlier. kinds has a bit for each of
 * theirs. */
void mt_limits_note(const struct mt_event *events, size_t n, uint64_t kinds, uint64_t before);

/* End the program if the run is over a limit, given the time since its start and its events. */
void mt_limits_check(uint64_t ns, uint64_t events);

void mt_limits_reset(void);

/* Traces of ended runs (MEMTAP_KEEP_RUNS). */

/* Remove traces of ended processes that exceed the limits, in this trace's directory: only traces
 * that a process of this user wrote with the same output pattern, and whose file was not replaced.
 * Writer only. */
void mt_old_runs_remove(const char *trace);

/*
 * The writer without a thread of its own (MEMTAP_THREAD=0, or if threads are forbidden): the
 * program's calls do its work, in turns. A turn handles at most MT_TURN_EVENTS events, on a stack
 * of ours. It runs when a thread has filled a piece of its ring (mt_ring_piece), which is smaller
 * than a turn's work. A thread waits for another one's turn only if its ring is full.
 */

#define MT_TURN_EVENTS 16384u

/* Create the trace and use turns from now on. Return 0 or -ENOMEM. */
int mt_turns_begin(void);

/* Use turns from now on: the writer's thread has left the trace as it is. */
void mt_turns_go_on(void);

/* Write the rest and close the trace. Return 0, or -EAGAIN if another thread's turn did not end in
 * time. */
int mt_turns_finish(uint64_t most_ns);

/* Reset in a forked child. */
void mt_turns_reset(void);

enum mt_loop {
    MT_LOOP_NONE,    /* within the function; or the source cannot be read */
    MT_LOOP_COUNTED, /* for: it ends with its iterable */
    MT_LOOP_OPEN,    /* while: it ends when the program says so */
};

/* Return the innermost loop around a line of Python source, judged by indentation. Not for the fast
 * path: it reads the file. */
enum mt_loop mt_loop_around(const char *path, unsigned line);

/* Describe a line in the same way; it is known if it could be read. */
void mt_describe_line(const char *path, unsigned line, struct mt_source_facts *out);

/* cuda-blocks.c: CUDA's live memory on devices, for searches for holders that began by a time. */
#define MT_CUDA_BLOCK_KINDS                                                                        \
    (1ull << MT_CUDA_MALLOC | 1ull << MT_CUDA_FREE | 1ull << MT_CUDA_MALLOC_ASYNC |                \
     1ull << MT_CUDA_FREE_ASYNC | 1ull << MT_CUDA_MAP | 1ull << MT_CUDA_UNMAP)
void mt_cuda_blocks_note(const struct mt_event *event, size_t n);
void mt_cuda_blocks_tell(uint64_t until_ns);

#endif
