/* SPDX-License-Identifier: Apache-2.0 */
/* The cards that a job is to fit. */
#ifndef MT_FIT_CARDS_H
#define MT_FIT_CARDS_H

#include "job.h"
#include "tools/terminal/command.h"

/* Reads "h100,rtx4090" or "all", and a size for all of them (NULL: their own). The job's fraction
 * is known. 0, or an exit code after a message. */
int mt_fit_cards_read(struct mt_job *job, const struct mt_command *command, const char *names,
                      const char *memory);

#endif
