/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moments of a trace to keep when not all events are kept: each device's peak, and iterations'
 * highest moments and begins; and events that carry the totals between them.
 */
#ifndef MT_KEEP_MOMENTS_H
#define MT_KEEP_MOMENTS_H

#include "keep-scout.h"

struct mt_keep_moments {
    struct mt_marks_list after_event; /* numbers of events, from 1 */
    struct mt_marks_list totals;      /* numbers of events with a highest total */
};

/* Choose from the replay of a whole trace and the scout's notes. The scout's lists are sorted.
 * Return 0 or -ENOMEM. Call mt_keep_moments_clear in any case. */
int mt_keep_moments_choose(struct mt_keep_moments *moments, const struct mt_replay *replay,
                           const struct mt_keep_scout *scout);
void mt_keep_moments_clear(struct mt_keep_moments *moments);

#endif
