/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes of one job (ranks), side by side.
 */
#ifndef MT_JOB_H
#define MT_JOB_H

#include "analysis.h"

/* A process's rank; -1 where the trace does not tell. */
long mt_rank(const struct mt_analysis *analysis);

/* The same without reading more than a trace's begin: 0 and *rank; else as mt_reader_open. */
int mt_trace_rank(const char *path, long *rank, struct mt_trace_error *error);

/* Whether two traces can be of one job; else why not, in words. */
int mt_same_job(const struct mt_analysis *a, const struct mt_analysis *b, const char **why);

/* The process with the highest peak; n is not 0. */
const struct mt_analysis *mt_job_highest(const struct mt_analysis *analyses, size_t n);

#endif
