/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the processes of a run, in its keeper. */
#ifndef MT_FIT_LAUNCH_RUN_H
#define MT_FIT_LAUNCH_RUN_H

#include "attempt.h"

/* How many processes of the command a run has. 0, or -EINVAL and why. */
int mt_run_processes(const struct mt_job *job, struct mt_choice choice, unsigned *processes,
                     char *why, size_t size);

/* Starts them, with their traces in the folder: pid[i] of each. 0; or a negative errno and why. */
int mt_run_start(const struct mt_attempt *attempt, const struct mt_job *job, const char *folder,
                 unsigned processes, pid_t *pid, char *why, size_t size);

#endif
