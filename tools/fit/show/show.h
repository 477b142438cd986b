/* SPDX-License-Identifier: Apache-2.0 */
/* What memtap fit shows. */
#ifndef MT_FIT_SHOW_H
#define MT_FIT_SHOW_H

#include "analyzer/support/text.h"
#include "tools/fit/search/crew.h"

#include <stdbool.h>

/* What is known of a card on a line, for all that show it. */
enum mt_fit_verdict {
    MT_VERDICT_BORDER, /* a value fits, and the next one does not: both were run */
    MT_VERDICT_ALL,    /* the last value fits */
    MT_VERDICT_NONE,   /* the first value does not */
    MT_VERDICT_OPEN,   /* a run showed neither */
};
enum mt_fit_verdict mt_fit_verdict(const struct mt_fit *fit, size_t line, size_t card);

/* What stopped a search that is open, and with which values. */
const struct mt_outcome *mt_fit_obstacle(const struct mt_fit *fit, size_t line, size_t card,
                                         struct mt_choice *choice);

/* The run of the largest value that fits; NULL: none. */
const struct mt_outcome *mt_fit_best(const struct mt_fit *fit, size_t line, size_t card);

/* Whether runs contradict that memory rises with the value. */
bool mt_fit_is_uneven(const struct mt_fit *fit, size_t line, size_t card);

/* How a run ended that showed neither: "ended with exit code 1". */
#define MT_OBSTACLE_TEXT 128
const char *mt_fit_obstacle_text(char out[MT_OBSTACLE_TEXT], const struct mt_fit *fit,
                                 const struct mt_outcome *outcome);

/* Lines on stderr: of a run that ended. */
void mt_fit_tell(const struct mt_fit *fit, const struct mt_attempt *attempt);

/* On stdout. 0 or a negative errno. */
int mt_fit_text(const struct mt_fit *fit, const struct mt_style *style);
int mt_fit_json(const struct mt_fit *fit);

/* An SVG of what fits, into a new file. 0; or a negative errno. */
int mt_fit_picture(const struct mt_fit *fit, const char *path);

#endif
