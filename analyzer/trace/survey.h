/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of what a trace has in it.
 */
#ifndef MT_SURVEY_H
#define MT_SURVEY_H

#include <stdbool.h>

#include "definitions.h"
#include "trace-format/likely.h"
#include "trace-format/reader.h"

/* The info record by which a compact copy tells how the recording ended, if it was not closed. */
#define MT_STATE_INFO MT_WHOLE "state="

struct mt_survey {
    uint64_t events;
    uint64_t bytes; /* of the file */
    uint64_t lost;  /* events that were not recorded, by the LOST events */
    uint64_t kinds[MT_KIND_LIMIT];
    uint64_t last_time_ns;
    enum mt_trace_state state; /* of a compact copy: of what it is a copy of */
    bool is_copy_of_such;
    int complete;              /* the recording was closed: `end` counts */
    struct mt_end end;         /* as the recording says it itself */
    uint64_t allocs_at_oom;    /* kinds[MT_ALLOC], when PyTorch ran out of memory the last time */
    bool is_cuda_out_of_memory; /* the same of CUDA calls */
    uint64_t failed_cuda; /* CUDA calls that found no memory; one that is tried again counts once */
    uint64_t wanted_of_cuda; /* by the last of them, bytes */
    /* The info records of these names, as far as they fit; "": there is none. */
    char ended[64], recovered[200], stopped[200], executed[200];
};

/* Reads a whole trace. definitions: filled, unless NULL. Returns as mt_scan does. */
int mt_survey(const char *path, struct mt_survey *survey, struct mt_definitions *definitions,
              struct mt_trace_error *error);

/* The pieces of it, for other passes: the file's size, and what each block adds; or what the block
 * adds by itself, and then each of its events. */
void mt_survey_begin(struct mt_survey *survey, const char *path);
void mt_survey_add(struct mt_survey *survey, const struct mt_batch *batch);
void mt_survey_batch(struct mt_survey *survey, const struct mt_batch *batch);

/* What few events are of, and more is to be known of. */
#define MT_SURVEY_RARE                                                                             \
    (1ull << MT_LOST | 1ull << MT_OOM | 1ull << MT_CUDA_MALLOC | 1ull << MT_CUDA_MALLOC_ASYNC)
void mt_survey_rare(struct mt_survey *survey, const struct mt_event *event);

static inline void mt_survey_event(struct mt_survey *survey, const struct mt_event *event)
{
    survey->kinds[event->kind]++; /* the reader lets no others through */
    if (survey->last_time_ns < event->time_ns)
        survey->last_time_ns = event->time_ns;
    if (MT_UNLIKELY(MT_SURVEY_RARE >> event->kind & 1))
        mt_survey_rare(survey, event);
}

/* How often memory ran out, and whether it did and nothing was allocated since: by PyTorch where the
 * process uses it, else by CUDA calls. */
uint64_t mt_survey_ooms(const struct mt_survey *survey);
bool mt_survey_is_out_of_memory(const struct mt_survey *survey);

/* Events that are missing, as far as the trace can say. */
uint64_t mt_survey_lost(const struct mt_survey *survey);

/* How long was recorded. */
uint64_t mt_survey_length_ns(const struct mt_survey *survey);

#endif
