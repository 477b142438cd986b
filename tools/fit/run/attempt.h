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
    bool is_huge;    /* the card's memory is MT_HUGE_CARD: what the job would take if it could */
    unsigned number; /* of all runs, from 1 */
    pid_t keeper;    /* 0: not running */
    struct mt_outcome *outcome; /* shared with the keeper */
    int asked; /* a file with what the run asked for (mt_request_log_read); 0: none, or taken */
};

#define MT_HUGE_CARD ((uint64_t)16 << 40)

/* Start it. 0 or a negative errno. The outcome is there when the keeper has ended. */
int mt_attempt_start(struct mt_attempt *attempt, const struct mt_job *job);

/* Ask the keeper to end the run at once, and not to look at it any more. */
void mt_attempt_end(const struct mt_attempt *attempt);

/* Give the outcome's memory back. */
void mt_attempt_clear(struct mt_attempt *attempt);

#endif
