/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which run is made next. The first runs of a line are made on a card that has room for anything:
 * what they took says for all cards where to look first. Where the program refuses its smallest
 * value, larger ones are tried.
 */
#ifndef MT_FIT_NEXT_H
#define MT_FIT_NEXT_H

#include "fit.h"

/* Begin the searches of a line. */
void mt_fit_begin(struct mt_fit *fit, size_t line);

/* Find the next run, which counts as started. host_free: bytes of the host's memory. */
bool mt_fit_next(const struct mt_fit *fit, uint64_t host_free, struct mt_attempt *next);

/* Learn from a run that has ended. 0; -ENOMEM; or -ECANCELED: sizes hang on values that were not
 * computed, so that a border could be too high. */
int mt_fit_learn(struct mt_fit *fit, struct mt_attempt *attempt);

#endif
