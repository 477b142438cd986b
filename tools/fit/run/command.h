/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a run: how its keeper starts it, and how a user would. */
#ifndef MT_FIT_COMMAND_H
#define MT_FIT_COMMAND_H

#include "attempt.h"

/* Start its processes, with their traces in the folder: pid[i] of each, as many as SIM_MAX_GPUS. 0;
 * or a negative errno and why. */
int mt_run_start(const struct mt_attempt *attempt, const struct mt_job *job, const char *folder,
                 pid_t *pid, unsigned *started, char *why, size_t size);

/* Return the command of a run, as a user would type it to repeat it; malloc'ed, or NULL. */
char *mt_attempt_line(const struct mt_attempt *attempt, const struct mt_job *job);

#endif
