/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moments of a trace that are worth to be kept when single events are not: each device's peak,
 * the highest and the begin of iterations; and the events that carry totals, which are looked at
 * between.
 */
#ifndef MT_KEEP_MOMENTS_H
#define MT_KEEP_MOMENTS_H

#include "keep-scout.h"

struct mt_keep_moments {
    struct mt_marks_list after_event; /* numbers of events, from 1 */
    struct mt_marks_list totals;      /* numbers of events that are the highest of something */
};

/* Takes them from the replay of a whole trace, and what was noted in it; the scout's lists are
 * sorted. 0 or -ENOMEM; to be cleared in any case. */
int mt_keep_moments_choose(struct mt_keep_moments *moments, const struct mt_replay *replay,
                           const struct mt_keep_scout *scout);
void mt_keep_moments_clear(struct mt_keep_moments *moments);

#endif
