/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a job, several runs at a time, until the border is known for every line and card. A line's
 * first runs use an unlimited card; their memory shows where to search on each card. If the program
 * refuses its smallest value, try larger ones.
 */
#ifndef MT_FIT_H
#define MT_FIT_H

#include "search.h"
#include "tools/memtap/fit/run/attempt.h"

#include <stdbool.h>

struct mt_fit {
    struct mt_job *job;
    struct mt_fit_line *line;      /* n_lines */
    struct mt_card_search *search; /* n_lines * n_cards, grouped by line */
    struct mt_attempt *attempt;
    size_t n_attempts, attempts_capacity;
    unsigned jobs; /* most runs at a time; 0: as many as the machine has room for */
    unsigned most_at_once;
    uint64_t most_host; /* a run's peak of host memory in bytes */
    struct mt_axis {
        unsigned falls,
            rises; /* counts of memory changes between runs that differ only in this variable */
    } axis[MT_MOST_VARIABLES]; /* per variable of the layout */
    double seconds;
    int signal; /* the signal the signal that ended it; 0: none */
    void (*show)(
        const struct mt_fit *fit,
        const struct mt_attempt *attempt); /* called for each run that ended; may be NULL */
};

/* Run them all. Return 0, -EINTR after a signal, or another negative errno. No process is left
 * running. Clear `fit` in any case. */
int mt_fit_make(struct mt_fit *fit);
void mt_fit_clear(struct mt_fit *fit);

/* Restore SIGPIPE's default action once no runs are left, and end the process if the reader of its
 * output has gone in the meantime. */
void mt_fit_restore_sigpipe(void);

static inline struct mt_card_search *mt_fit_search(const struct mt_fit *fit, size_t line,
                                                   size_t card)
{
    return &fit->search[line * fit->job->n_cards + card];
}

/* Return the outcome of a position's last run on a card, or on the unlimited card (MT_ANY_ROOM);
 * NULL: none. */
#define MT_ANY_ROOM SIZE_MAX
const struct mt_outcome *mt_fit_outcome(const struct mt_fit *fit, size_t line, size_t card,
                                        size_t position);

/* Return whether memory falls with more ranks on an axis. */
static inline bool mt_axis_falls(const struct mt_axis *axis)
{
    return axis->falls && !axis->rises;
}

/* Return how many runs a card's answer is based on: its own and the shared ones. */
unsigned mt_fit_runs(const struct mt_fit *fit, size_t line, size_t card);

/*
 * Layouts that rule out others. If, in the runs so far, more ranks on an axis (a variable of
 * --world-size) never used more memory and sometimes less, a layout that does not fit rules out
 * otherwise equal layouts with fewer ranks on such axes.
 */

/* Return whether a line's runs can begin: it is not ruled out on all cards, and no run in progress
 * may rule it out. */
bool mt_neighbours_let_begin(struct mt_fit *fit, size_t line);

/* Record a run that has ended. If it contradicts the assumption, lift what was ruled out. */
void mt_neighbours_learn(struct mt_fit *fit);

#endif
