/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a trace's tail (tail.h) at one moment. */
#ifndef MT_TRACE_TAIL_READER_H
#define MT_TRACE_TAIL_READER_H

#include <stdbool.h>

#include "reader.h"
#include "tail.h"

struct mt_tail_content {
    bool is_locked;    /* by the process that writes it */
    bool is_other;     /* it is the tail of another trace; nothing of it was read */
    uint64_t alive_ns; /* the process's last sign of life, by CLOCK_REALTIME; 0: never */
    enum mt_tail_end end;
    uint64_t slotless;   /* events of threads without a slot, not in the trace yet */
    uint64_t trace_size; /* the bytes of the trace that count: the content follows them */
    struct mt_definition *definitions;
    struct mt_event *events; /* in time order */
    size_t n_definitions, definitions_capacity, n_events, events_capacity;
    struct mt_trace_error error; /* what is wrong with the tail; the rest is intact */
    /* the memory of the definitions' texts */
    unsigned char *journal;
    char (*names)[MT_THREAD_NAME_SIZE];
    char info[3][64], why[sizeof(struct mt_tail_header)];
};

/* What a reader knows about the trace. */
struct mt_tail_of {
    const char *path;
    uint64_t id, header_size;
};

/* Open the tail of a trace, for O_RDONLY or O_RDWR. Return as open() does. */
int mt_tail_file(const char *trace_path, int access);

/* Read the tail of a trace. Return 1; 0 if there is none, or if it changes faster than it can be
 * read (then is_locked is set); -EPROTO if its version is unknown; or -ENOMEM. Call mt_tail_clear
 * in any case. */
int mt_tail_read(struct mt_tail_content *content, const struct mt_tail_of *trace);

/* Find how much of a growing trace counts and the signs of life; sets only trace_size, is_locked,
 * alive_ns and end. Return 1; or 0 if the trace has no tail, which means that all of it counts. */
int mt_tail_peek(struct mt_tail_content *content, const struct mt_tail_of *trace);

/* Add an event that counts the slotless events as lost, because the process has ended. Return 0 or
 * -ENOMEM. */
int mt_tail_lose_slotless(struct mt_tail_content *content);

void mt_tail_clear(struct mt_tail_content *content);

#endif
