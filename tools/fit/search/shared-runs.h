/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a line on a card that has room for anything, before any other: what they took says for
 * all cards where to look first. Where the program refuses its smallest value, larger ones are
 * tried.
 */
#ifndef MT_FIT_SHARED_RUNS_H
#define MT_FIT_SHARED_RUNS_H

#include "crew.h"

/* Which values they are to have: the smallest, and one in the geometric middle. */
void mt_shared_plan(const struct mt_job *job, struct mt_fit_line *line);

/* Asks for the first value, to know what it takes where no card has room for it. */
void mt_shared_ask_first(struct mt_fit_line *line);

/* The next one's position: 1, and it counts as started; 0: none is to be started now. */
int mt_shared_next(struct mt_fit_line *line, size_t *position);
int mt_shared_are_over(const struct mt_fit_line *line);

/* One has ended; or a run on a card of the user's fits. 0 or -ENOMEM. */
int mt_shared_take(struct mt_fit *fit, struct mt_fit_line *line, const struct mt_attempt *attempt);
int mt_shared_learn(const struct mt_job *job, struct mt_fit_line *line,
                    const struct mt_attempt *attempt);

#endif
