/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget made from good runs, for memtap check and for people to edit.
 */
#ifndef MT_PROPOSE_H
#define MT_PROPOSE_H

#include "nightly/digest/digest.h"

#include <stdio.h>

/* Write a budget that all runs keep: the most of any device plus `headroom` hundredths of a
 * percent, in round numbers. n > 0. Return 0 or -ENOMEM. */
int mt_propose_budget(const struct mt_digest *runs, size_t n, uint64_t headroom, FILE *out);

#endif
