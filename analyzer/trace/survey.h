/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of a trace's events.
 */
#ifndef MT_SURVEY_H
#define MT_SURVEY_H

#include <stdbool.h>

#include "definitions.h"
#include "trace-format/likely.h"
#include "trace-format/reader.h"

/* A compact copy's info record on how the recording ended, if it was not closed. */
#define MT_STATE_INFO MT_WHOLE "state="
#define MT_UNNUMBERED_INFO MT_WHOLE "unnumbered=" /* the original lacks block numbers */

struct mt_survey {
    uint64_t events;
    uint64_t bytes; /* of the file */
    uint64_t lost;  /* lost events, according to the LOST events */
    uint64_t kinds[MT_KIND_LIMIT];
    uint64_t short_lived, short_lived_bytes; /* blocks that a light recording left out */
    uint64_t last_time_ns;
    enum mt_trace_state state; /* a compact copy's original */
    bool is_copy_of_such;
    bool complete;              /* the recording was closed: `end` counts */
    bool is_unnumbered;         /* the format cannot show missing blocks */
    struct mt_end end;          /* the recording's own */
    uint64_t allocs_at_oom;     /* kinds[MT_ALLOC] when memory last ran out for PyTorch, */
    uint64_t failed_libraries;  /* or for a library: CUDA calls, as below */
    bool is_cuda_out_of_memory; /* the same for CUDA calls */
    uint64_t failed_cuda;       /* CUDA calls without enough memory; a repeated one counts once */
    uint64_t wanted_of_cuda;    /* the last one's bytes */
    const struct mt_definitions
        *definitions; /* used while reading, to recognize libraries' calls */
    /* The info records of these names, cut if they do not fit; "": none. */
    char ended[64], recovered[200], stopped[200], executed[200];
};

/* Survey a whole trace, and fill definitions unless NULL. Return mt_scan's result. */
int mt_survey(const char *path, struct mt_survey *survey, struct mt_definitions *definitions,
              struct mt_trace_error *error);

/* Survey a trace as part of another pass: begin with the file's size, then add blocks with all
 * events, or blocks without events and then each event. */
void mt_survey_begin(struct mt_survey *survey, const char *path);
void mt_survey_add(struct mt_survey *survey, const struct mt_batch *batch);
void mt_survey_batch(struct mt_survey *survey, const struct mt_batch *batch);

/* Rare kinds of events, with further handling. */
#define MT_SURVEY_RARE                                                                             \
    (1ull << MT_LOST | 1ull << MT_SHORT_LIVED | 1ull << MT_OOM | 1ull << MT_CUDA_MALLOC |          \
     1ull << MT_CUDA_MALLOC_ASYNC)
void mt_survey_rare(struct mt_survey *survey, const struct mt_event *event);

static inline void mt_survey_event(struct mt_survey *survey, const struct mt_event *event)
{
    survey->kinds[event->kind]++; /* the reader rejects other kinds */
    if (survey->last_time_ns < event->time_ns)
        survey->last_time_ns = event->time_ns;
    if (MT_UNLIKELY(MT_SURVEY_RARE >> event->kind & 1))
        mt_survey_rare(survey, event);
}

/* Return how often memory ran out; return whether it did and nothing was allocated since. Counts
 * PyTorch and libraries if the process uses PyTorch, else CUDA calls. */
uint64_t mt_survey_ooms(const struct mt_survey *survey);
bool mt_survey_is_out_of_memory(const struct mt_survey *survey);

/* Return the number of lost events, as far as known. */
uint64_t mt_survey_lost(const struct mt_survey *survey);

/* Return the length of the recording. */
uint64_t mt_survey_length_ns(const struct mt_survey *survey);

/* Return whether a CUDA call ran out of memory. */

#define MT_CUDA_OUT_OF_MEMORY 2u /* the same number in the runtime and the driver */
static inline bool mt_cuda_is_oom(const struct mt_event *event)
{
    return event->kind == MT_CUDA_MALLOC && event->CUDA_MALLOC.result == MT_CUDA_OUT_OF_MEMORY;
}

#endif
