/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace's tail (tail.h) has at one moment. */
#ifndef MT_TRACE_TAIL_READER_H
#define MT_TRACE_TAIL_READER_H

#include <stdbool.h>

#include "reader.h"
#include "tail.h"

struct mt_tail_content {
    bool is_locked;    /* by the process that writes it */
    uint64_t alive_ns; /* when that said that it lives, by CLOCK_REALTIME; 0: never */
    enum mt_tail_end end;
    uint64_t apart;      /* events of threads without a place in it, which are not in the trace */
    uint64_t trace_size; /* the trace's bytes that count: the content begins after them */
    struct mt_definition *definitions;
    struct mt_event *events; /* in the order of their times */
    size_t n_definitions, definitions_capacity, n_events, events_capacity;
    struct mt_trace_error error; /* what is wrong with it; all else is sound */
    /* what the definitions' texts point into */
    unsigned char *journal;
    char (*names)[MT_THREAD_NAME_SIZE];
    char info[3][64], why[sizeof(struct mt_tail_header)];
};

/* What a reader knows of the trace already. */
struct mt_tail_of {
    const char *path;
    uint64_t id, header_size;
};

/* Reads the tail of a trace: 1; 0 where there is none of that trace, or it changes faster than it
 * can be read (is_locked says so); -EPROTO where it is of a version that is not known here;
 * -ENOMEM. To be cleared in any case. */
int mt_tail_read(struct mt_tail_content *content, const struct mt_tail_of *trace);

/* Of a trace whose process writes it: how much of the trace counts, and the signs of life (trace_size,
 * is_locked, alive_ns and end of content, which has nothing else). 1; 0 where there is no tail of that
 * trace, and then all of it counts. */
int mt_tail_glance(struct mt_tail_content *content, const struct mt_tail_of *trace);

/* The process has ended: what was apart is lost, and an event says so. 0, or -ENOMEM. */
int mt_tail_lose_apart(struct mt_tail_content *content);

void mt_tail_clear(struct mt_tail_content *content);

#endif
