/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes of one job (ranks), side by side. Their analyses need not be in memory
 * together: a struct mt_job_rank has what comparing them takes.
 */
#ifndef MT_JOB_H
#define MT_JOB_H

#include "analysis.h"

struct mt_job_rank {
    long rank;       /* -1: unknown */
    long stands_for; /* so many ranks of its kind, itself among them; -1: nobody looked */
    size_t given;    /* its place among the traces as the caller has them */
    char *host, *parent_pid, *pid, *world_size, *master_address; /* own; "": unknown */
    bool has_device; /* the main device's, at the moment; else all 0 */
    int device;
    uint64_t allocated, time_ns;
    const char *phase;                             /* for people; "": unknown */
    uint64_t category[MT_CATEGORY_ROOM];           /* bytes */
    enum mt_certainty certainty[MT_CATEGORY_ROOM]; /* mt_sites_certainty */
    struct mt_ended ended;
};

/* Return a process's rank; -1 if the trace does not give it. */
long mt_rank(const struct mt_analysis *analysis);

/* The same, but only read the trace's begin. Return 0 and *rank, or the errors of
 * mt_reader_open. */
int mt_trace_rank(const char *path, long *rank, struct mt_trace_error *error);

/* Fill in a rank from its analysis, which may go afterwards. 0, or -ENOMEM. Call mt_job_rank_clear
 * in any case. */
int mt_job_rank_take(struct mt_job_rank *rank, const struct mt_analysis *analysis, size_t given);
void mt_job_rank_clear(struct mt_job_rank *rank);

/* By rank, then as they are given. */
void mt_job_sort(struct mt_job_rank *ranks, size_t n);

/* Return whether two traces can be of one job; if not, *why is the reason in words. */
bool mt_same_job(const struct mt_job_rank *a, const struct mt_job_rank *b, const char **why);

/* Return whether a process has a higher peak than another, or the same one and stands before it
 * (mt_job_sort). */
bool mt_is_higher(const struct mt_job_rank *a, const struct mt_job_rank *b);

/* Return the index of the process with the highest peak; n is not 0. */
size_t mt_job_highest(const struct mt_job_rank *ranks, size_t n);

#endif
