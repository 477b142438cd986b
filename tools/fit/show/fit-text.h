/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of memtap fit's page for people. */
#ifndef MT_FIT_TEXT_H
#define MT_FIT_TEXT_H

#include "show.h"

/* The job on every card: a row for each card and line, at most so many columns wide if that is
 * possible. 0 or -ENOMEM. */
int mt_fit_put_table(const struct mt_fit *fit, const struct mt_style *style, unsigned width);

/* What has to be said of the rows: where memory falls, what a program caught, why a run showed
 * nothing ... */
void mt_fit_put_notes(const struct mt_fit *fit, const struct mt_style *style, unsigned width);

#endif
