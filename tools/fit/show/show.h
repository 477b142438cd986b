/* SPDX-License-Identifier: Apache-2.0 */
/* What memtap fit shows. */
#ifndef MT_FIT_SHOW_H
#define MT_FIT_SHOW_H

#include "analyzer/support/text.h"
#include "tools/fit/search/fit.h"

#include <stdbool.h>

/* What is known of a card on a line. O(enumerator, name in JSON) */
#define MT_FIT_VERDICTS(O)                                                                         \
    O(BORDER, "border")   /* a value fits, and the next one does not: both were run */             \
    O(ALL, "always")      /* the last value fits */                                                \
    O(NONE, "never")      /* the first value does not */                                           \
    O(RULED, "ruled out") /* a layout with more ranks does not fit: no run was made */             \
    O(OPEN, "not known")  /* a run showed neither */

enum mt_fit_verdict {
#define MT_FIT_ENUM(id, name) MT_VERDICT_##id,
    MT_FIT_VERDICTS(MT_FIT_ENUM)
#undef MT_FIT_ENUM
};

/* The answer for a card on a line: table, notes, JSON and picture are made of it. */
struct mt_fit_answer {
    size_t card, line;
    enum mt_fit_verdict verdict;
    size_t largest;                    /* the position that fits; MT_NONE */
    const struct mt_outcome *best;     /* of its run; NULL: there is none */
    const struct mt_attempt *obstacle; /* the run that showed neither; NULL: there is none */
    const struct mt_card_search *search;
    bool was_caught; /* a program that ran out of memory caught that */
    bool is_uneven;  /* runs contradict that memory rises with the value */
    unsigned runs;   /* its own, and those that cards share */
};

struct mt_fit_answers {
    const struct mt_fit *fit;
    const struct mt_job *job;
    struct mt_fit_answer *of; /* those of a card together, by line */
    size_t n;
};

/* Collect what the runs showed: 0 or -ENOMEM. `of` is to be freed. */
int mt_fit_answers_collect(struct mt_fit_answers *answers, const struct mt_fit *fit);

static inline const struct mt_fit_answer *mt_fit_answer_of(const struct mt_fit_answers *answers,
                                                           size_t card, size_t line)
{
    return &answers->of[card * answers->job->n_lines + line];
}

/* Return the answer whose run takes the largest part of a card, of those that fit; NULL: none. */
const struct mt_fit_answer *mt_fit_answers_fullest(const struct mt_fit_answers *answers,
                                                   size_t card);

/* Write how a run ended that showed neither: "ended with exit code 1". */
#define MT_OBSTACLE_TEXT 128
const char *mt_fit_obstacle_text(char out[MT_OBSTACLE_TEXT], const struct mt_job *job,
                                 const struct mt_outcome *outcome);

/* Print a line on stderr: a run that ended. */
void mt_fit_show_run(const struct mt_fit *fit, const struct mt_attempt *attempt);

/* Print a row for each card and line, at most so many columns wide if that is possible. 0 or
 * -ENOMEM. */
int mt_fit_print_table(const struct mt_fit_answers *answers, const struct mt_style *style,
                       unsigned width);

/* Print what has to be said of the rows: where memory falls, what a program caught, why a run
 * showed nothing ... */
void mt_fit_print_notes(const struct mt_fit_answers *answers, const struct mt_style *style,
                        unsigned width);

/* Print JSON. 0 or a negative errno. */
int mt_fit_print_json(const struct mt_fit_answers *answers);

/* Draw what fits into a new file, an SVG. 0; or a negative errno. */
int mt_fit_picture(const struct mt_fit_answers *answers, const char *path);

#endif
