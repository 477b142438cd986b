/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a bounded trace: each can be read without earlier ones. */
#ifndef MT_WRITE_SEGMENTS_H
#define MT_WRITE_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a bounded trace: a file that can be read without the others. */
struct mt_trace_part {
    uint64_t base;    /* bytes before its own events */
    uint64_t events;  /* of the trace, before it */
    uint64_t time_ns; /* of the last of them */
    uint64_t carried; /* events that replace them */
};

struct mt_trace_parts {
    struct mt_trace_part older, here; /* older: empty if there is none */
    bool is_beginning;
    int rc; /* is_beginning: a segment is being created; rc: its result */
};

void mt_writer_append_header(uint64_t older_id);

/* Keep everything from now on, because a segment could not be created. */
void mt_writer_keep_all(int rc);
/* Start a segment if this one is large enough. All events read are in it. */
void mt_writer_turn_segment(void);

#endif
