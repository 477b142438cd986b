/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server's memory by what it did (trace-format/meaning/serving.h), and the terms of the budget
 * from which it chose the size of its kv cache.
 */
#ifndef MT_FINDINGS_SERVING_H
#define MT_FINDINGS_SERVING_H

#include "analyzer/classify/classify.h"
#include "analyzer/replay/replay.h"
#include "trace-format/meaning/serving.h"

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
    uint64_t captured;    /* what the card had less after the last capture than before */
    struct mt_serving_work work[MT_SERVING_COUNT];
};

/*
 * How many tokens have room in the cache of keys and values, as its makers said: the largest of
 * those that are live at the moment.
 */

struct mt_cache_room {
    struct mt_room room; /* tokens 0: nobody said it */
    uint64_t sequences;  /* of the longest length, at once; 0: not known */
    bool is_least;       /* there may be room for more */
};

struct mt_cache_room mt_cache_room_find(const struct mt_rooms *rooms,
                                        const struct mt_verdict *verdicts, size_t n);

/* Find the budget of the slot's device. */
void mt_serving_budget_find(struct mt_serving_budget *budget, const struct mt_replay *replay,
                            unsigned slot);

#endif
