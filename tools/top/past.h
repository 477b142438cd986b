/* SPDX-License-Identifier: Apache-2.0 */
/* What was allocated on each device in the last minutes, and how many allocations there were. */
#ifndef MT_PAST_H
#define MT_PAST_H

#include "analyzer/replay/replay.h"

#define MT_PAST_STEP_NS 100000000u
#define MT_PAST_STEPS 4096u /* which is 6.8 minutes */

struct mt_past {
    uint64_t *most[MT_DEVICES]; /* bytes, by step modulo MT_PAST_STEPS; NULL: the device is not used */
    uint64_t first[MT_DEVICES], last[MT_DEVICES]; /* steps that are known, last included */
    uint32_t allocations[MT_PAST_STEPS];
    uint64_t last_step; /* of the allocations */
};

/* A past of zeros is empty. It watches a replay (struct mt_watcher): 0 or -ENOMEM. */
int mt_past_saw(void *past, const struct mt_replay *replay, const struct mt_event *event);
void mt_past_clear(struct mt_past *past);

/* Fills in n columns, the last of which is the newest: the most in each. How many ns a column stands for; the
 * columns show at most a minute for each 60 of them, and less at a run's begin. 0: nothing is known. */
uint64_t mt_past_columns(const struct mt_past *past, unsigned slot, unsigned n, uint64_t *columns);

/* Allocations a second over the last seconds of the trace. */
double mt_past_rate(const struct mt_past *past);

#endif
