/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PLAN_PACKING_H
#define MT_PLAN_PACKING_H

#include "planner/requests/gather.h"

/*
 * The bytes that the recorded lives need if the whole run is known beforehand: an upper bound on
 * the best. The largest blocks, at most 16,384, are put one by one, the largest first, at the
 * lowest place that is free for their whole life; the others into the lowest gap beside these, as
 * they come. 0: out of memory.
 */
uint64_t mt_packing(const struct mt_asked *asked);

#endif
