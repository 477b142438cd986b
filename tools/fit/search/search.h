/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the largest value that fits one card, on one line of the other variables: which
 * value to run next, and what is known by runs on this card. Positions are those of the values.
 */
#ifndef MT_FIT_SEARCH_H
#define MT_FIT_SEARCH_H

#include "estimate.h"
#include "predict.h"
#include "tools/fit/job/job.h"

#include <stdbool.h>

#define MT_NONE SIZE_MAX
#define MT_SHARED_RUNS 5u /* of a line at most */

/* A combination of the variables that are not searched. */
struct mt_fit_line {
    struct mt_estimate estimate;
    struct mt_prediction predictor;
    size_t shared[MT_SHARED_RUNS]; /* positions of runs on a card that has room for anything */
    unsigned n_shared, n_started, n_over;
    bool is_refused; /* the program took no value: refusal has why */
    size_t refusal;  /* the number of a run, from 0 */
    double cache;    /* the part of PyTorch's unused cache that a card had to have; negative: not
                        known */
};

struct mt_card_search {
    const struct mt_job *job;
    struct mt_fit_line *line;
    size_t card;
    size_t first;        /* the lowest position that the program takes */
    size_t fits, fails;  /* the largest that fits below the smallest that does not; MT_NONE */
    size_t top;          /* MT_NONE, or the last position: it fits though others below do not */
    size_t stopped_at;   /* the position of a run that showed neither; MT_NONE */
    size_t hole;         /* MT_NONE, or a position that does not fit though larger ones do */
    unsigned runs;       /* on this card */
    unsigned steps;      /* beyond what was guessed, in one direction */
    unsigned misses;     /* runs that ended otherwise than was predicted */
    bool has_missed_fit; /* of these the last one: it was to fit */
    enum { MT_NOT_PREDICTED, MT_PREDICTED_FIT, MT_PREDICTED_FULL } predicted; /* of the next run */
    bool is_running, is_over;
    bool may_fall; /* memory does not always rise with the value: both ends are tried first */
    bool has_tried_top, has_tried_hole;
};

/* Find the position to be run next. False: the border is known, or will not be. */
bool mt_search_next(struct mt_card_search *search, size_t *position);

/* Learn how the run of a position ended. */
void mt_search_learn(struct mt_card_search *search, size_t position, enum mt_fit_end end);

/* Return whether the last position is still to be tried, to see that memory does rise up to there.
 */
bool mt_search_wants_top(const struct mt_card_search *search);

/* Return whether a smaller value than the border's is predicted not to fit; its position. It is
 * asked for once. */
bool mt_search_wants_hole(struct mt_card_search *search, size_t *position);

/* Return the position of the largest value that fits, as far as runs have shown; MT_NONE. */
static inline size_t mt_search_largest(const struct mt_card_search *search)
{
    return search->top != MT_NONE ? search->top : search->fits;
}

/* Return where the border lies between what PyTorch's cache could be: the part that had to be
 * there; negative: not known. */
double mt_search_cache(const struct mt_card_search *search);

/* Return the last of a job's positions whose value is below a border; 0 where none is. */
size_t mt_position_below(const struct mt_job *job, double border);

#endif
