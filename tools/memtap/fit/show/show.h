/* SPDX-License-Identifier: Apache-2.0 */
/* The output of memtap fit. */
#ifndef MT_FIT_SHOW_H
#define MT_FIT_SHOW_H

#include "analyzer/support/text.h"
#include "tools/memtap/fit/search/fit.h"

#include <stdbool.h>

/* The verdict for a card on a line. O(enumerator, name in JSON) */
#define MT_FIT_VERDICTS(O)                                                                         \
    O(BORDER, "border")   /* a value fits and the next one does not; both were run */              \
    O(ALL, "always")      /* the last value fits */                                                \
    O(NONE, "never")      /* the first value does not fit fit */                                   \
    O(RULED, "ruled out") /* ruled out by a layout with more ranks; not run */                     \
    O(OPEN, "not known")  /* a run ended otherwise */

enum mt_fit_verdict {
#define MT_FIT_ENUM(id, name) MT_VERDICT_##id,
    MT_FIT_VERDICTS(MT_FIT_ENUM)
#undef MT_FIT_ENUM
};

/* The answer for a card on a line, from which table, notes, JSON and picture are made. */
struct mt_fit_answer {
    size_t card, line;
    enum mt_fit_verdict verdict;
    size_t largest;                    /* the largest position that fits; MT_NONE: none */
    const struct mt_outcome *best;     /* its run's outcome; NULL: none */
    const struct mt_attempt *obstacle; /* the run that ended otherwise; NULL: none */
    const struct mt_card_search *search;
    bool was_caught; /* the program ran out of memory and caught the error */
    bool is_uneven;  /* runs contradict that memory rises with the value */
    unsigned runs;   /* number of runs: its own and the shared ones */
};

struct mt_fit_answers {
    const struct mt_fit *fit;
    const struct mt_job *job;
    struct mt_fit_answer *of; /* grouped by card, then by line */
    size_t n;
};

/* Collect the answers. Return 0 or -ENOMEM. The caller frees `of`. */
int mt_fit_answers_collect(struct mt_fit_answers *answers, const struct mt_fit *fit);

static inline const struct mt_fit_answer *mt_fit_answer_of(const struct mt_fit_answers *answers,
                                                           size_t card, size_t line)
{
    return &answers->of[card * answers->job->n_lines + line];
}

/* Return the answer that fits and uses the largest part of a card; NULL: none. */
const struct mt_fit_answer *mt_fit_answers_fullest(const struct mt_fit_answers *answers,
                                                   size_t card);

/* Write why a run gave no answer: "ended with exit code 1". Return out. */
#define MT_OBSTACLE_TEXT 128
const char *mt_fit_obstacle_text(char out[MT_OBSTACLE_TEXT], const struct mt_job *job,
                                 const struct mt_outcome *outcome);

/* Print a line about a finished run to stderr. */
void mt_fit_show_run(const struct mt_fit *fit, const struct mt_attempt *attempt);

/* Print a row for each card and line, at most `width` columns wide if possible. Return 0 or
 * -ENOMEM. */
int mt_fit_print_table(const struct mt_fit_answers *answers, const struct mt_style *style,
                       unsigned width);

/* Print notes on the rows: where memory falls, what a program caught, why a run gave no answer. */
void mt_fit_print_notes(const struct mt_fit_answers *answers, const struct mt_style *style,
                        unsigned width);

/* Print JSON. Return 0 or a negative errno. */
int mt_fit_print_json(const struct mt_fit_answers *answers);

/* Write the chart to a new SVG file. Return 0 or a negative errno. */
int mt_fit_picture(const struct mt_fit_answers *answers, const char *path);

#endif
