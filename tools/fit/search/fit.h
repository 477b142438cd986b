/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the runs of a job, several at a time, until the border is known for every line and card.
 * The first runs of a line are made on a card that has room for anything: what they took says for
 * all cards where to look first. Where the program refuses its smallest value, larger ones are
 * tried.
 */
#ifndef MT_FIT_H
#define MT_FIT_H

#include "search.h"
#include "tools/fit/run/attempt.h"

#include <stdbool.h>

struct mt_fit {
    struct mt_job *job;
    struct mt_fit_line *line;      /* n_lines */
    struct mt_card_search *search; /* n_lines * n_cards, those of a line together */
    struct mt_attempt *attempt;
    size_t n_attempts, attempts_capacity;
    unsigned jobs; /* at a time at most; 0: as many as the machine has room for */
    unsigned most_at_once;
    uint64_t most_host; /* bytes that a run took of the host's memory */
    struct mt_axis {
        unsigned falls, rises; /* of memory between runs that differ in this variable only */
    } axis[MT_MOST_VARIABLES]; /* of those that are of the layout */
    double seconds;
    int signal; /* that ended it; 0: none */
    void (*show)(const struct mt_fit *fit,
                 const struct mt_attempt *attempt); /* of each run that ended; NULL: nothing */
};

/* Make them. 0; or a negative errno, or -EINTR after a signal. Leaves no process. To be cleared in
 * any case. */
int mt_fit_make(struct mt_fit *fit);
void mt_fit_clear(struct mt_fit *fit);

/* End the process now, if the reader of memtap's output has gone meanwhile, as it would have ended
 * then; and from now on let it end so at once. Nothing is left of the runs. */
void mt_fit_end_as_asked(void);

static inline struct mt_card_search *mt_fit_search(const struct mt_fit *fit, size_t line,
                                                   size_t card)
{
    return &fit->search[line * fit->job->n_cards + card];
}

/* Return what the last run of a position on a card showed, or (MT_ANY_ROOM) that on a card which
 * has room for anything; NULL: there was none. */
#define MT_ANY_ROOM SIZE_MAX
const struct mt_outcome *mt_fit_outcome(const struct mt_fit *fit, size_t line, size_t card,
                                        size_t position);

/* Return whether memory falls with more ranks on an axis. */
static inline bool mt_axis_falls(const struct mt_axis *axis)
{
    return axis->falls && !axis->rises;
}

/* Return how many runs are in what is known of a card: its own, and those that cards share. */
unsigned mt_fit_runs(const struct mt_fit *fit, size_t line, size_t card);

/*
 * What a layout's run says of others. Where more ranks on an axis (a variable of --world-size)
 * never took more in the runs so far, and some took less, a layout that does not fit rules out
 * those with fewer ranks on such axes that are otherwise the same.
 */

/* Return whether a line's runs can begin. False: what is going on may rule it out, or it is ruled
 * out on all cards. */
bool mt_neighbours_let_begin(struct mt_fit *fit, size_t line);

/* Learn from a run that has ended: where it contradicts, nothing is ruled out any more. */
void mt_neighbours_learn(struct mt_fit *fit);

#endif
