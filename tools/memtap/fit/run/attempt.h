/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of the job on a simulated card. A separate keeper process starts `memtap run` as a user
 * would, follows the traces, ends the run when it can show nothing more, and leaves no process or
 * file behind, even if memtap itself is killed.
 */
#ifndef MT_FIT_ATTEMPT_H
#define MT_FIT_ATTEMPT_H

#include "tools/memtap/fit/job/job.h"

#include <stdbool.h>
#include <sys/types.h>

struct mt_attempt {
    struct mt_choice choice;
    size_t card;
    bool is_huge;               /* on a card of MT_HUGE_CARD bytes, to measure what the job needs */
    bool is_trial;              /* of one rank, to find the kinds of ranks */
    const unsigned *rank;       /* ranks that run alone, one after the other */
    unsigned n_ranks;           /* 0: run the job's single rank, if it has one */
    const char *groups;         /* a file that gets the ranks of communication groups; NULL: none */
    unsigned number;            /* counts all runs from 1 */
    pid_t keeper;               /* 0: not running */
    struct mt_outcome *outcome; /* shared with the keeper */
    int request_log; /* a file with the run's requests (mt_request_log_read); 0: none, or handed
                        over */
};

#define MT_HUGE_CARD ((uint64_t)16 << 40)
/* A program that uses this much of it sizes itself to the card, as servers' caches do. */
#define MT_FILLS_CARD (MT_HUGE_CARD / 8)

/* Start a run. Return 0 or a negative errno. The outcome is valid once the keeper has ended. */
int mt_attempt_start(struct mt_attempt *attempt, const struct mt_job *job);

/* Signal the keeper to end the run at once. */
void mt_attempt_end(const struct mt_attempt *attempt);

/* Free the outcome. */
void mt_attempt_clear(struct mt_attempt *attempt);

/* The command line of a run, for its keeper and for users. */

/* Start the run's processes, at most SIM_MAX_GPUS, with their traces in the folder, and fill in
 * pid. turn: which of the attempt's ranks. Return 0, or a negative errno with the reason in why. */
int mt_run_start(const struct mt_attempt *attempt, const struct mt_job *job, const char *folder,
                 unsigned turn, pid_t *pid, unsigned *started, char *why, size_t size);

/* Return a malloc'ed command line that repeats the run; NULL: no memory. */
char *mt_attempt_line(const struct mt_attempt *attempt, const struct mt_job *job);

#endif
