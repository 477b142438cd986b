/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget made of good runs, for memtap check and for people to edit.
 */
#ifndef MT_PROPOSE_H
#define MT_PROPOSE_H

#include "nightly/digest/digest.h"

#include <stdio.h>

/* Writes a budget that all of the runs are within: the most that any device of them took and so
 * many hundredths of a percent more, in round numbers. n > 0. 0 or -ENOMEM. */
int mt_propose_budget(const struct mt_digest *runs, size_t n, uint64_t headroom, FILE *out);

#endif
