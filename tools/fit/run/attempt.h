/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of the job on a simulated card. A process of its own keeps it: it starts `memtap run` as
 * a user would, follows the traces, ends the run when nothing more is to be learned from it, and
 * leaves no process and no file behind, also when memtap itself is killed.
 */
#ifndef MT_FIT_ATTEMPT_H
#define MT_FIT_ATTEMPT_H

#include "tools/fit/job/job.h"

#include <stdbool.h>
#include <sys/types.h>

struct mt_attempt {
    struct mt_choice choice;
    size_t card;
    bool is_huge;  /* the card's memory is MT_HUGE_CARD: what the job would take if it could */
    bool is_trial; /* of one rank, to see which ranks differ */
    const unsigned *rank;       /* these run alone, one after the other */
    unsigned n_ranks;           /* 0: the job's one rank is run, if it has one that is alone */
    const char *groups;         /* a file, to which the ranks of groups are added; NULL: none */
    unsigned number;            /* of all runs, from 1 */
    pid_t keeper;               /* 0: not running */
    struct mt_outcome *outcome; /* shared with the keeper */
    int asked; /* a file with what the run asked for (mt_request_log_read); 0: none, or taken */
};

#define MT_HUGE_CARD ((uint64_t)16 << 40)
/* A program that takes so much of it does so because it is there, as servers' caches do. */
#define MT_TAKES_ALL (MT_HUGE_CARD / 8)

/* Start it. 0 or a negative errno. The outcome is there when the keeper has ended. */
int mt_attempt_start(struct mt_attempt *attempt, const struct mt_job *job);

/* Ask the keeper to end the run at once, and not to look at it any more. */
void mt_attempt_end(const struct mt_attempt *attempt);

/* Give the outcome's memory back. */
void mt_attempt_clear(struct mt_attempt *attempt);

/* The command line of a run: how its keeper starts it, and how a user would. */

/* Start its processes, with their traces in the folder: pid[i] of each, as many as SIM_MAX_GPUS.
 * turn: which of the attempt's ranks. 0; or a negative errno and why. */
int mt_run_start(const struct mt_attempt *attempt, const struct mt_job *job, const char *folder,
                 unsigned turn, pid_t *pid, unsigned *started, char *why, size_t size);

/* Return the command of a run, as a user would type it to repeat it; malloc'ed, or NULL. */
char *mt_attempt_line(const struct mt_attempt *attempt, const struct mt_job *job);

#endif
