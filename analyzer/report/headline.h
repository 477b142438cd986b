/* SPDX-License-Identifier: Apache-2.0 */
/* One to four sentences that say what a run's memory was used for, and what was wrong. */
#ifndef MT_HEADLINE_H
#define MT_HEADLINE_H

#include "analyzer/findings/analysis.h"

#include <stdio.h>

/* Writes a sentence a line: that memory ran out, what fills the device with the highest peak and by
 * which line, what grows from iteration to iteration, and what lies free in what PyTorch reserved
 * where that is much. Nothing where no memory was allocated. */
void mt_headline(const struct mt_analysis *analysis, FILE *out);

#endif
