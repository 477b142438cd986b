/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server's memory by what it did (trace-format/meaning/serving.h), and the terms of the budget
 * from which it chose the size of its kv cache.
 */
#ifndef MT_FINDINGS_SERVING_H
#define MT_FINDINGS_SERVING_H

#include "analyzer/replay/replay.h"

struct mt_serving_work {
    uint64_t times; /* it began; 0: never */
    uint64_t most, most_time_ns;
};

struct mt_serving_budget {
    bool serves;          /* else the rest is 0 */
    uint64_t weights;     /* what loading the model left */
    uint64_t activations; /* by how much the profile run was higher than what it left */
    uint64_t graphs;      /* the most that segments of captured graphs had */
    uint64_t captures;    /* of graphs */
    struct mt_serving_work work[MT_SERVING_COUNT];
};

/* Find the budget of the slot's device. */
void mt_serving_budget_find(struct mt_serving_budget *budget, const struct mt_replay *replay,
                            unsigned slot);

#endif
