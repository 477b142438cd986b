/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the runs of a job, several at a time, until the border is known for every line and card.
 */
#ifndef MT_FIT_CREW_H
#define MT_FIT_CREW_H

#include "search.h"
#include "tools/fit/run/attempt.h"

#include <stdbool.h>

#define MT_SHARED_RUNS 5u /* of a line at most */

struct mt_fit_line {
    struct mt_estimate estimate;
    struct mt_foretell foretell;
    struct {
        size_t position; /* MT_NONE: not asked for */
        bool is_started, is_over;
        struct mt_outcome outcome;
    } shared[MT_SHARED_RUNS]; /* on a card that has room for anything */
    size_t n_shared;
    bool is_refused; /* the program took no value: refused_at has why */
    size_t refused_at;
    struct mt_outcome refusal;
    double cache; /* mt_search_cache of a card that is done; negative: of none */
};

struct mt_fit {
    struct mt_job *job;
    struct mt_fit_line *line;      /* n_lines */
    struct mt_card_search *search; /* n_lines * n_cards, those of a line together */
    struct mt_attempt *attempt;
    size_t n_attempts, attempts_capacity;
    unsigned jobs; /* at a time at most; 0: as many as the machine has room for */
    unsigned most_at_once;
    uint64_t most_host; /* bytes that a run took of the host's memory */
    double seconds;
    int signal; /* that ended it; 0: none */
    void (*tell)(const struct mt_fit *fit,
                 const struct mt_attempt *attempt); /* of each run that ended */
};

/* Makes them: 0; or a negative errno, or -EINTR after a signal. Leaves no process. To be cleared in
 * any case. */
int mt_fit_make(struct mt_fit *fit);
void mt_fit_clear(struct mt_fit *fit);

/* When nothing is left of the runs: if the reader of memtap's output has gone meanwhile, the
 * process ends of it here, as it would have then; and from now on it does so at once. */
void mt_fit_end_as_asked(void);

static inline struct mt_card_search *mt_fit_search(const struct mt_fit *fit, size_t line,
                                                   size_t card)
{
    return &fit->search[line * fit->job->n_cards + card];
}

/* The card with the most memory: what does not fit there, fits nowhere. Unlimited cards are of its
 * kind. */
size_t mt_fit_largest_card(const struct mt_job *job);

/* Runs whose results are in what is known of a card: its own, and those that cards share. */
unsigned mt_fit_runs(const struct mt_fit *fit, size_t line, size_t card);

#endif
