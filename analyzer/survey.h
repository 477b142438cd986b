/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass over a trace: how much of what is in it, and when each device's memory was at its
 * peak. It keeps the live CUDA allocations and nothing else of the events.
 */
#ifndef MT_SURVEY_H
#define MT_SURVEY_H

#include "definitions.h"
#include "heap.h"
#include "trace-format/reader.h"

/* The moment of most allocated memory on a device: the first, should there be several. */
struct mt_peak {
    uint64_t event; /* its number in the trace, from 1; 0: there is none */
    uint64_t time_ns;
    uint64_t allocated; /* bytes, after the event */
    uint64_t reserved;  /* by PyTorch; 0 for CUDA allocations */
};

struct mt_survey {
    uint64_t events, bytes; /* bytes: the file's */
    uint64_t lost;          /* events that were not recorded, by the LOST events */
    uint64_t kinds[MT_KIND_LIMIT];
    uint64_t last_time_ns;
    int complete;      /* the recording was closed: `end` counts */
    struct mt_end end; /* as the recording says it itself */
    unsigned version;
    struct mt_peak pytorch[MT_DEVICES], cuda[MT_DEVICES];
    uint64_t most_reserved[MT_DEVICES];
};

/* Reads the whole trace. definitions: filled, unless NULL. Returns as mt_scan does. */
int mt_survey(const char *path, struct mt_survey *survey, struct mt_definitions *definitions,
              struct mt_trace_error *error);

/* Events that are missing, as far as the trace can say. */
uint64_t mt_survey_lost(const struct mt_survey *survey);

/* How long was recorded. */
uint64_t mt_survey_length_ns(const struct mt_survey *survey);

#endif
