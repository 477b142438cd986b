/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the largest value that fits one card, for one line of the other variables: which
 * value to run next, and the result of the runs on this card. Positions are indices of values.
 */
#ifndef MT_FIT_SEARCH_H
#define MT_FIT_SEARCH_H

#include "ranks.h"
#include "tools/memtap/fit/job/job.h"
#include "tools/memtap/fit/run/requests.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The runs of a line, by value. Of equal values the first ran on the unlimited card. */
struct mt_known_runs {
    struct mt_known_run {
        uint64_t value, context; /* the context's bytes on its card */
        const struct mt_outcome *outcome;
        size_t id;
        size_t kind; /* the id of the first run with the same order of requests; SIZE_MAX:
                        unfinished, or its requests are unknown */
        struct mt_request_log log;
        struct mt_slope {
            double slope, bend;
        } *size[MT_MOST_LOGGED]; /* each request's size as a function of the value; NULL: not
                                    computed yet */
        uint64_t bent_at;        /* the value from which curvature counts */
    } *run;
    size_t n, capacity;
    struct mt_request *room; /* buffer buffer for the requests of a value */
    size_t room_capacity;
};

/* Add a run and take ownership of its log, which may be empty. A zeroed estimate has no runs.
 * Return 0 or -ENOMEM. */
int mt_known_add(struct mt_known_runs *known, struct mt_known_run run);
void mt_known_clear(struct mt_known_runs *known);

/* Return whether the run did not run out of memory. */
static inline bool mt_known_is_complete(const struct mt_known_run *run)
{
    return run->outcome->end == MT_FIT_FITS;
}

/* Return the next complete run with a larger value than `from` (NULL: the first one); NULL: none.
 */
const struct mt_known_run *mt_known_after(const struct mt_known_runs *known,
                                          const struct mt_known_run *from);

/*
 * Predict which values fill a card, from the runs' requests to PyTorch's allocator. A value is
 * assumed to make the nearest run's requests in the same order, with sizes from a line or curve
 * through runs of that order, or else from the lines of two other runs at equal sizes. These
 * requests are replayed. A prediction only chooses the next run.
 */

/* Return 1 if a value is predicted to fit a card with this many bytes besides its context, 0 if
 * not, and a negative number if nothing can be predicted. */
int mt_prediction_fits(struct mt_known_runs *known, uint64_t bytes, uint64_t value);

/* Return the number of requests that are replayed for a value. */
size_t mt_prediction_requests(const struct mt_known_runs *known, uint64_t value);

/* Return whether no other finished run had the order of requests of this value's run. */
bool mt_prediction_is_strange(const struct mt_known_runs *known, uint64_t value);

/*
 * Estimates from the runs' measured memory, without their contexts, which differ between cards.
 */

/* Return the value from which a card with this many bytes besides its context is too small, if this
 * part (0 to 1) of PyTorch's unused cache is needed. Negative: unknown. Infinite: no value is too
 * large. */
double mt_estimate_border(const struct mt_known_runs *known, uint64_t bytes, double cache);
#define MT_LIKELY_CACHE 0.3

/* Return the host memory for a value in bytes; 0: unknown. */
uint64_t mt_estimate_host(const struct mt_known_runs *known, uint64_t value);

/* Return whether a run with a larger value used less memory, by more than the allocator's rounding.
 */
bool mt_estimate_falls(const struct mt_known_runs *known);

#define MT_SHARED_RUNS 5u /* most runs of a line */

/* A line: a combination of the variables that are not searched. */
struct mt_fit_line {
    struct mt_known_runs known;
    struct mt_line_ranks ranks;    /* if they are searched */
    size_t shared[MT_SHARED_RUNS]; /* positions of runs on the unlimited card */
    unsigned n_shared, n_started, n_over;
    unsigned n_refused; /* number of values tried, from the smallest */
    size_t first;       /* the lowest position that the program accepts */
    bool may_fall;      /* memory does not always rise with the value; try both ends first */
    bool fills_card;    /* the program sizes itself to the card, so its memory says nothing */
    bool is_begun;      /* runs have been started */
    bool is_refused;    /* the program accepted no value; see refusal */
    size_t refusal;     /* index of a run */
};

struct mt_card_search {
    const struct mt_job *job;
    struct mt_fit_line *line;
    size_t card;
    size_t fits,
        fails;  /* the largest position that fits below the smallest that does not; MT_NONE: none */
    size_t top; /* the last position, if it fits although others below do not; else MT_NONE */
    size_t stopped_by;   /* index of a run that showed neither; MT_NONE: none */
    size_t hole;         /* a position that does not fit although larger ones do; MT_NONE: none */
    uint64_t advice;     /* the largest value that fits, as reported by the program; 0: none */
    size_t ruled_by;     /* the line that rules this one out, without a run; MT_NONE: none */
    unsigned runs;       /* on this card */
    unsigned steps;      /* consecutive errors of the estimate in one direction */
    unsigned misses;     /* runs that contradicted their prediction */
    bool has_missed_fit; /* the last of these was predicted to fit */
    enum { MT_NOT_PREDICTED, MT_PREDICTED_FIT, MT_PREDICTED_FULL } predicted; /* of the next run */
    bool is_running, is_over;
    bool has_tried_top, has_tried_hole;
};

/* Choose the position to run next. Return false if the border is known or cannot be found. */
bool mt_search_next(struct mt_card_search *search, size_t *position);

/* Record the outcome of a position's run, and its index. */
void mt_search_learn(struct mt_card_search *search, size_t position, enum mt_fit_end end,
                     size_t number);

/* Return whether to run the last position, to check that memory rises up to it. */
bool mt_search_wants_top(const struct mt_card_search *search);

/* Return whether a value below the border is predicted not to fit, and store its position. Each is
 * returned once. */
bool mt_search_wants_hole(struct mt_card_search *search, size_t *position);

/* Return the position of the largest value known to fit; MT_NONE: none. */
static inline size_t mt_search_largest(const struct mt_card_search *search)
{
    return search->top != MT_NONE ? search->top : search->fits;
}

/* Return the last of a job's positions with a value below a border; 0: none. */
size_t mt_position_below(const struct mt_job *job, double border);

#endif
