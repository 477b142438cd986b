/* SPDX-License-Identifier: Apache-2.0 */
/* Each device's allocated bytes in the last minutes, and the count of allocations. */
#ifndef MT_PAST_H
#define MT_PAST_H

#include "analyzer/replay/replay.h"

#define MT_PAST_STEP_NS 100000000u
#define MT_PAST_STEPS 4096u /* 6.8 minutes */

struct mt_past {
    uint64_t *most[MT_DEVICES]; /* bytes, by step modulo MT_PAST_STEPS; NULL: unused device */
    uint64_t first[MT_DEVICES], last[MT_DEVICES]; /* known steps, last included */
    uint32_t allocations[MT_PAST_STEPS];
    uint64_t last_step; /* of the allocations */
};

/* A past of zeros is empty. Watches a replay (struct mt_watcher). Return 0 or -ENOMEM. */
int mt_past_saw(void *past, const struct mt_replay *replay, const struct mt_event *event);
void mt_past_clear(struct mt_past *past);

/* Fill in n columns, the newest last: the most bytes in each. Return how many ns a column covers.
 * 60 columns cover at most a minute, less at a run's begin. 0: unknown. */
uint64_t mt_past_columns(const struct mt_past *past, unsigned slot, unsigned n, uint64_t *columns);

/* Return the allocations a second over the trace's last seconds. */
double mt_past_rate(const struct mt_past *past);

#endif
