/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a card will be full, by what runs of a line asked of PyTorch's allocator. A value that was
 * not run asks for what the nearest run asked for, in the same order, in sizes that follow from
 * other runs: the line or the curve through the sizes of runs with the same order, else what lines
 * of two other runs are for the same size. That is replayed. It chooses what to run, and nothing
 * else; near to the border it is mostly right to the value, also where there are several borders.
 */
#ifndef MT_FIT_FORETELL_H
#define MT_FIT_FORETELL_H

#include "tools/fit/run/request-log.h"

#include <stdbool.h>
#include <stdint.h>

/* The size of one request by the value. */
struct mt_foretold_size {
    double slope, bend;
};

struct mt_foretell_run {
    uint64_t value, context; /* bytes that the context took of its card */
    bool is_whole;           /* memory did not run out */
    size_t kind; /* of the runs that asked in one order: the first one's index; of a run that is not
                    whole, SIZE_MAX: it is like none that is */
    struct mt_request_log log;
    struct mt_foretold_size *size[MT_MOST_LOGGED]; /* of each request; NULL: to be found */
    uint64_t bent_at;                              /* the value from which bends count */
};

struct mt_foretell {
    struct mt_foretell_run *run; /* in the order in which they were made */
    size_t n, capacity;
    struct mt_request *room; /* for the requests of a value */
    size_t room_capacity;
};

struct mt_foretold_card {
    uint64_t memory, context; /* bytes */
};

/* A foretelling of zeros knows nothing. Adds a run, and owns its log from here on, which may
 * hold nothing. 0 or -ENOMEM. */
int mt_foretell_add(struct mt_foretell *foretell, struct mt_foretell_run run);
void mt_foretell_clear(struct mt_foretell *foretell);

/* Whether a value fits: 1, 0; or negative where nothing can be told. */
int mt_foretell_fits(struct mt_foretell *foretell, struct mt_foretold_card card, uint64_t value);

/* The run that a value is told by; NULL: none. */
struct mt_foretell_run *mt_foretell_nearest(const struct mt_foretell *foretell, uint64_t value);

/* Whether the run of a value asked in an order in which no other run did that ended. */
bool mt_foretell_is_strange(const struct mt_foretell *foretell, uint64_t value);

/* Finds the sizes of a run's requests by the value. 0, -ENOENT where too few runs are known, or
 * -ENOMEM. */
int mt_foretell_sizes(const struct mt_foretell *foretell, struct mt_foretell_run *run);
void mt_foretell_forget_sizes(struct mt_foretell_run *run);

/* Whether two runs asked in one order; of a run that is not whole, as far as it came. */
bool mt_foretell_are_alike(const struct mt_request_log *whole, const struct mt_request_log *other,
                           bool other_is_whole);

/* The next request that is not of what others take; NULL: there is none. */
const struct mt_request *mt_foretell_next(const struct mt_request_log_device *device, size_t *at);

#endif
