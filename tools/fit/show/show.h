/* SPDX-License-Identifier: Apache-2.0 */
/* What memtap fit shows. */
#ifndef MT_FIT_SHOW_H
#define MT_FIT_SHOW_H

#include "analyzer/support/text.h"
#include "tools/fit/search/fit.h"

#include <stdbool.h>

/* What is known of a card on a line, for all that show it. O(enumerator, name in JSON) */
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
enum mt_fit_verdict mt_fit_verdict(const struct mt_fit *fit, size_t line, size_t card);

/* Return what stopped a search that is open, and with which values. */
const struct mt_outcome *mt_fit_obstacle(const struct mt_fit *fit, size_t line, size_t card,
                                         struct mt_choice *choice);

/* Return the run of the largest value that fits; NULL: none. */
const struct mt_outcome *mt_fit_best(const struct mt_fit *fit, size_t line, size_t card);

/* Return the line whose run takes the largest part of a card, of those that fit; MT_NONE. */
size_t mt_fit_fullest(const struct mt_fit *fit, size_t card);

/* Return whether a program that ran out of memory caught that. */
bool mt_fit_was_caught(const struct mt_fit *fit, size_t line, size_t card);

/* Return whether runs contradict that memory rises with the value. */
bool mt_fit_is_uneven(const struct mt_fit *fit, size_t line, size_t card);

/* Write how a run ended that showed neither: "ended with exit code 1". */
#define MT_OBSTACLE_TEXT 128
const char *mt_fit_obstacle_text(char out[MT_OBSTACLE_TEXT], const struct mt_fit *fit,
                                 const struct mt_outcome *outcome);

/* Print a line on stderr: a run that ended. */
void mt_fit_show_run(const struct mt_fit *fit, const struct mt_attempt *attempt);

/* Print the job on every card, a row for each card and line, at most so many columns wide if that
 * is possible. 0 or -ENOMEM. */
int mt_fit_print_table(const struct mt_fit *fit, const struct mt_style *style, unsigned width);

/* Print what has to be said of the rows: where memory falls, what a program caught, why a run
 * showed nothing ... */
void mt_fit_print_notes(const struct mt_fit *fit, const struct mt_style *style, unsigned width);

/* Print the table and the notes, or JSON. 0 or a negative errno. */
int mt_fit_print_text(const struct mt_fit *fit, const struct mt_style *style);
int mt_fit_print_json(const struct mt_fit *fit);

/* Draw what fits into a new file, an SVG. 0; or a negative errno. */
int mt_fit_picture(const struct mt_fit *fit, const char *path);

#endif
