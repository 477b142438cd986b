/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the largest value that fits one card, on one line of the other variables: which
 * value to run next, and what is known by runs on this card. Positions are those of the values.
 */
#ifndef MT_FIT_SEARCH_H
#define MT_FIT_SEARCH_H

#include "estimate.h"
#include "foretell.h"
#include "tools/fit/job/job.h"
#include "tools/fit/job/outcome.h"

#include <stdbool.h>

#define MT_NONE SIZE_MAX

struct mt_card_search {
    size_t line, card;
    size_t first;       /* the lowest position that the program takes */
    size_t fits, fails; /* the largest that fits below the smallest that does not; MT_NONE */
    size_t top;         /* MT_NONE, or the last position: it fits though others below do not */
    size_t stopped_at;  /* the position of a run that showed neither; MT_NONE */
    size_t hole;        /* MT_NONE, or a position that does not fit though larger ones do */
    struct mt_outcome at_fit, at_fail, at_top, at_stop;
    unsigned runs;          /* on this card */
    unsigned steps;         /* beyond what was guessed, in one direction */
    unsigned guesses, near; /* by replays; and of these near to where they were wrong */
    unsigned misses;        /* runs that ended otherwise than was foretold */
    bool has_missed_fit;    /* of these the last one: it was to fit */
    enum { MT_NOT_FORETOLD, MT_FORETOLD_FIT, MT_FORETOLD_FULL } foretold; /* of the next run */
    bool is_running, is_waiting, is_over;
    bool may_fall; /* memory does not always rise with the value: both ends are tried first */
    bool has_tried_top, has_tried_hole;
    size_t running_at;
};

void mt_search_begin(struct mt_card_search *search, size_t line, size_t card);

/* The position to be run next: 1; or 0 where the border is known, or will not be. cache: as of
 * mt_estimate_border, the part that is likely. */
int mt_search_next(struct mt_card_search *search, const struct mt_job *job,
                   const struct mt_estimate *estimate, struct mt_foretell *foretell, double cache,
                   size_t *position);

/* A run of a position has ended. */
void mt_search_take(struct mt_card_search *search, const struct mt_job *job, size_t position,
                    const struct mt_outcome *outcome);

/* Whether the last position is still to be tried, to see that memory does rise up to there. */
bool mt_search_wants_top(const struct mt_card_search *search, const struct mt_job *job);

/* Whether a smaller value than the border's is foretold not to fit; its position. It is asked for
 * once. */
bool mt_search_wants_hole(struct mt_card_search *search, const struct mt_job *job,
                          struct mt_foretell *foretell, size_t *position);

/* One of the positions from low to high, by what is foretold. False: nothing is. */
bool mt_search_foretold(struct mt_card_search *search, const struct mt_job *job,
                        struct mt_foretell *foretell, size_t low, size_t high, size_t *position);

/* The value of a position that is searched. */
uint64_t mt_search_value(const struct mt_job *job, size_t position);

/* The position of the largest value that fits, as far as runs have shown; MT_NONE. */
size_t mt_search_largest(const struct mt_card_search *search);

/* Where the border lies between what PyTorch's cache could be: the part that had to be there;
 * negative: not known. */
double mt_search_cache(const struct mt_card_search *search, const struct mt_job *job,
                       const struct mt_estimate *estimate);

#endif
