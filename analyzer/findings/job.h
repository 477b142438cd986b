/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes of one job (ranks), side by side.
 */
#ifndef MT_JOB_H
#define MT_JOB_H

#include "analysis.h"

/* Return a process's rank; -1 if the trace does not give it. */
long mt_rank(const struct mt_analysis *analysis);

/* The same, but only read the trace's begin. Return 0 and *rank, or the errors of
 * mt_reader_open. */
int mt_trace_rank(const char *path, long *rank, struct mt_trace_error *error);

/* Return whether two traces can be of one job; if not, *why is the reason in words. */
int mt_same_job(const struct mt_analysis *a, const struct mt_analysis *b, const char **why);

/* Return the process with the highest peak; n is not 0. */
const struct mt_analysis *mt_job_highest(const struct mt_analysis *analyses, size_t n);

#endif
