/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts of a trace.
 */
#ifndef MT_SURVEY_H
#define MT_SURVEY_H

#include <stdbool.h>

#include "definitions.h"
#include "trace-format/likely.h"
#include "trace-format/reader.h"

/* The info record of a compact copy on how the recording ended, if it was not closed. */
#define MT_STATE_INFO MT_WHOLE "state="

struct mt_survey {
    uint64_t events;
    uint64_t bytes; /* of the file */
    uint64_t lost;  /* events not recorded, by the LOST events */
    uint64_t kinds[MT_KIND_LIMIT];
    uint64_t short_lived, short_lived_bytes; /* blocks that a light recording left out */
    uint64_t last_time_ns;
    enum mt_trace_state state; /* of a compact copy: its original's */
    bool is_copy_of_such;
    int complete;              /* the recording was closed: `end` counts */
    bool is_unnumbered;        /* its format does not show whether a block is missing */
    struct mt_end end;         /* the recording's own */
    uint64_t allocs_at_oom;    /* kinds[MT_ALLOC], when memory ran out the last time for PyTorch, */
    uint64_t failed_libraries; /* or a library beside it: CUDA calls, as below */
    bool is_cuda_out_of_memory; /* the same for CUDA calls */
    uint64_t failed_cuda;       /* CUDA calls without enough memory; a repeated one counts once */
    uint64_t wanted_of_cuda;    /* the last one's bytes */
    const struct mt_definitions
        *definitions; /* while it reads: calls of libraries are known by them */
    /* The info records of these names, cut if they do not fit; "": none. */
    char ended[64], recovered[200], stopped[200], executed[200];
};

/* Read a whole trace. definitions: filled, unless NULL. Return mt_scan's result. */
int mt_survey(const char *path, struct mt_survey *survey, struct mt_definitions *definitions,
              struct mt_trace_error *error);

/* Begin a survey by its parts, for other passes: the file's size; a block with all its events; or a
 * block without its events, then each event. */
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

/* Return how often memory ran out; return whether it did and nothing was allocated since: by
 * PyTorch and libraries beside it if the process uses it, else by CUDA calls. */
uint64_t mt_survey_ooms(const struct mt_survey *survey);
bool mt_survey_is_out_of_memory(const struct mt_survey *survey);

/* Return the number of missing events, as far as known. */
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
