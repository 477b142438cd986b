/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the writer, which belongs to its thread. Parts of it are known to one file only. */
#ifndef MT_WRITE_WRITER_STATE_H
#define MT_WRITE_WRITER_STATE_H

#include "define.h"
#include "order.h"
#include "output.h"
#include "preload/record/tail.h"
#include "preload/selection/selection.h"
#include "segments.h"
#include "shortage.h"
#include "trace-format/encoder.h"
#include "writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct mt_writer {
    /* What other threads read and change. */
    _Atomic uint32_t is_open, is_done; /* futexes; is_done: the thread ends, or the trace did */
    const struct mt_writer_info *info;
    _Atomic bool stop;
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
    struct mt_tail_mark mark;               /* how far the file has got */
    struct mt_tail_mark committed;          /* the same, as the tail says it */
    struct mt_chain chain, committed_chain; /* of the file's blocks, likewise */
    struct mt_shortage shortage;
    uint64_t start_ns, last_ns;
    struct {
        uint64_t events, lost; /* of the trace */
        uint64_t passed;       /* events, with those that were lost before */
    } so_far, at_commit;
    struct mt_live *live;               /* NULL: keep all */
    struct mt_used_blocks *used;        /* NULL: uses are not recorded */
    struct mt_cuda_blocks *cuda_blocks; /* NULL: none */
    uint32_t shortages;                 /* of PyTorch's allocator, whose live blocks were written */
    struct mt_selection *selection;     /* NULL: record all */
    uint64_t seen;                      /* events, with those not recorded */
    bool has_request;                   /* of memtap save, whose iterations go on */
    bool is_gathering;                  /* a window is being written, which is committed at once */
    struct mt_trace_parts part;
    struct mt_defined defined;
    uint64_t most_events; /* to write in one drain */
    uint64_t cpu_ns;      /* used by turns before cpu_begin_ns of this thread's time */
    uint64_t cpu_begin_ns;
    int first_code; /* the exit code that the first thread gave to the kernel itself; 0: none */
};
MT_ASSERT_APART(struct mt_writer, working, output);
extern struct mt_writer mt_writer;
extern _Thread_local bool mt_is_writer __attribute__((tls_model("initial-exec"))); /* now */

static inline bool mt_writer_is_open(void)
{
    return mt_writer.output.file.fd >= 0;
}

/* Set a futex of the writer's, and wake its waiters. */
void mt_writer_set(_Atomic uint32_t *word);

#endif
