/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a card will be full, by what runs of a line asked of PyTorch's allocator. A value that was
 * not run asks for what the nearest run asked for, in the same order, in sizes that follow from
 * other runs: the line or the curve through the sizes of runs with the same order, else what lines
 * of two other runs are for the same size. That is replayed. It chooses what to run, and nothing
 * else; near to the border it is mostly right to the value, also where there are several borders.
 */
#ifndef MT_FIT_PREDICT_H
#define MT_FIT_PREDICT_H

#include "tools/fit/run/requests.h"

#include <stdbool.h>
#include <stdint.h>

struct mt_prediction_run {
    uint64_t value, context; /* bytes that the context took of its card */
    bool is_whole;           /* memory did not run out */
    size_t kind; /* of the runs that asked in one order: the first one's index; of a run that is not
                    whole, SIZE_MAX: it is like none that is */
    struct mt_request_log log;
    struct mt_slope {
        double slope, bend;
    } *size[MT_MOST_LOGGED]; /* of each request by the value; NULL: to be found */
    uint64_t bent_at;        /* the value from which bends count */
};

struct mt_prediction {
    struct mt_prediction_run *run; /* in the order in which they were made */
    size_t n, capacity;
    struct mt_request *room; /* for the requests of a value */
    size_t room_capacity;
};

/* Add a run to a predictor, of which one of zeros knows nothing. Own its log from here on, which
 * may hold nothing. 0 or -ENOMEM. */
int mt_prediction_add(struct mt_prediction *predictor, struct mt_prediction_run run);
void mt_prediction_clear(struct mt_prediction *predictor);

/* Return 1 if a value fits a card with so many bytes beside its context, 0 if not; or a negative
 * number where nothing can be predicted. */
int mt_prediction_fits(struct mt_prediction *predictor, uint64_t bytes, uint64_t value);

/* Return how many requests are replayed for a value. */
size_t mt_prediction_requests(const struct mt_prediction *predictor, uint64_t value);

/* Return whether the run of a value asked in an order in which no other run did that ended. */
bool mt_prediction_is_strange(const struct mt_prediction *predictor, uint64_t value);

#endif
