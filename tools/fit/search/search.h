/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for the largest value that fits one card, on one line of the other variables: which
 * value to run next, and what is known by runs on this card. Positions are those of the values.
 */
#ifndef MT_FIT_SEARCH_H
#define MT_FIT_SEARCH_H

#include "ranks.h"
#include "tools/fit/job/job.h"
#include "tools/fit/run/requests.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a line's program: its runs, by value. Of equal values the first was on a card
 * that is large enough for any cache. */
struct mt_known_runs {
    struct mt_known_run {
        uint64_t value, context; /* bytes that the context took of its card */
        const struct mt_outcome *outcome;
        size_t id;
        size_t kind; /* of the runs that asked in one order: the first one's id; of one that did not
                        end, or whose requests are not known, SIZE_MAX: it is like none */
        struct mt_request_log log;
        struct mt_slope {
            double slope, bend;
        } *size[MT_MOST_LOGGED]; /* of each request by the value; NULL: to be found */
        uint64_t bent_at;        /* the value from which bends count */
    } *run;
    size_t n, capacity;
    struct mt_request *room; /* for the requests of a value */
    size_t room_capacity;
};

/* Add a run; zeros know nothing. Own its log from here on, which may hold nothing. 0 or -ENOMEM. */
int mt_known_add(struct mt_known_runs *known, struct mt_known_run run);
void mt_known_clear(struct mt_known_runs *known);

/* Return whether memory did not run out. */
static inline bool mt_known_is_whole(const struct mt_known_run *run)
{
    return run->outcome->end == MT_FIT_FITS;
}

/* Return the next run that is whole, with a larger value than `from` has; NULL: there is none.
 * from: NULL: before the first one. */
const struct mt_known_run *mt_known_after(const struct mt_known_runs *known,
                                          const struct mt_known_run *from);

/*
 * Where a card will be full, by what runs of a line asked of PyTorch's allocator. A value that was
 * not run asks for what the nearest run asked for, in the same order, in sizes that follow from
 * other runs: the line or the curve through the sizes of runs with the same order, else what lines
 * of two other runs are for the same size. That is replayed. It chooses what to run, and nothing
 * else; near to the border it is mostly right to the value, also where there are several borders.
 */

/* Return 1 if a value fits a card with so many bytes beside its context, 0 if not; or a negative
 * number where nothing can be predicted. */
int mt_prediction_fits(struct mt_known_runs *known, uint64_t bytes, uint64_t value);

/* Return how many requests are replayed for a value. */
size_t mt_prediction_requests(const struct mt_known_runs *known, uint64_t value);

/* Return whether the run of a value asked in an order in which no other run did that ended. */
bool mt_prediction_is_strange(const struct mt_known_runs *known, uint64_t value);

/*
 * The same by what runs took, without their contexts: each card has its own.
 */

/* Return the value from which on a card with so many bytes beside its context is too small, if of
 * PyTorch's unused cache this part (0 to 1) has to be there. Negative: nothing is known. Infinite:
 * none is too large. */
double mt_estimate_border(const struct mt_known_runs *known, uint64_t bytes, double cache);
#define MT_LIKELY_CACHE 0.3

/* Return the bytes of the host's memory for a value; 0: nothing is known. */
uint64_t mt_estimate_host(const struct mt_known_runs *known, uint64_t value);

/* Return whether a run with a larger value took less, by more than an allocator's rounding. */
bool mt_estimate_falls(const struct mt_known_runs *known);

#define MT_SHARED_RUNS 5u /* of a line at most */

/* A combination of the variables that are not searched. */
struct mt_fit_line {
    struct mt_known_runs known;
    struct mt_line_ranks ranks;    /* where they are to be found */
    size_t shared[MT_SHARED_RUNS]; /* positions of runs on a card that has room for anything */
    unsigned n_shared, n_started, n_over;
    unsigned n_refused; /* values, from the smallest one on */
    size_t first;       /* the lowest position that the program takes */
    bool may_fall;      /* memory does not always rise with the value: both ends are tried first */
    bool takes_all;     /* the program takes what a card has: nothing follows from what it took */
    bool is_begun;      /* runs were made */
    bool is_refused;    /* the program took no value: refusal has why */
    size_t refusal;     /* the number of a run, from 0 */
};

struct mt_card_search {
    const struct mt_job *job;
    struct mt_fit_line *line;
    size_t card;
    size_t fits, fails;  /* the largest that fits below the smallest that does not; MT_NONE */
    size_t top;          /* MT_NONE, or the last position: it fits though others below do not */
    size_t stopped_by;   /* the number of a run that showed neither, from 0; MT_NONE */
    size_t hole;         /* MT_NONE, or a position that does not fit though larger ones do */
    uint64_t advice;     /* the largest value that fits, as the program said; 0: nothing */
    size_t ruled_by;     /* MT_NONE, or the line that rules this one out: no run is made */
    unsigned runs;       /* on this card */
    unsigned steps;      /* beyond what was guessed, in one direction */
    unsigned misses;     /* runs that ended otherwise than was predicted */
    bool has_missed_fit; /* of these the last one: it was to fit */
    enum { MT_NOT_PREDICTED, MT_PREDICTED_FIT, MT_PREDICTED_FULL } predicted; /* of the next run */
    bool is_running, is_over;
    bool has_tried_top, has_tried_hole;
};

/* Find the position to be run next. False: the border is known, or will not be. */
bool mt_search_next(struct mt_card_search *search, size_t *position);

/* Learn how the run of a position ended, and its number. */
void mt_search_learn(struct mt_card_search *search, size_t position, enum mt_fit_end end,
                     size_t number);

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

/* Return the last of a job's positions whose value is below a border; 0 where none is. */
size_t mt_position_below(const struct mt_job *job, double border);

#endif
