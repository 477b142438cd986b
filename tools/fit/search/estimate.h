/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs of one line took, by the value that is searched, and where by that a card will be full:
 * a guess, which says what to run next, and nothing else.
 */
#ifndef MT_FIT_ESTIMATE_H
#define MT_FIT_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_estimate {
    struct mt_estimate_point {
        uint64_t value;
        uint64_t used, floor; /* bytes, as in mt_outcome, without the context: each card has its
                                 own */
        uint64_t host;        /* bytes of the host's memory */
    } *point;                 /* by value */
    size_t n, capacity;
};

/* Add a run to an estimate, of which one of zeros knows nothing. 0 or -ENOMEM. */
int mt_estimate_add(struct mt_estimate *estimate, struct mt_estimate_point point);
void mt_estimate_clear(struct mt_estimate *estimate);

/* Return the value from which on a card with so many bytes beside its context is too small, if of
 * PyTorch's unused cache this part (0 to 1) has to be there. Negative: nothing is known. Infinite:
 * none is too large. */
double mt_estimate_border(const struct mt_estimate *estimate, uint64_t bytes, double cache);

/* Return the bytes of the host's memory for a value; 0: nothing is known. */
uint64_t mt_estimate_host(const struct mt_estimate *estimate, uint64_t value);

/* Return whether a run with a larger value took less, by more than an allocator's rounding. */
bool mt_estimate_falls(const struct mt_estimate *estimate);

#endif
