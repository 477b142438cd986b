/* SPDX-License-Identifier: Apache-2.0 */
/* One to four sentences: the use of a run's memory, and what was wrong. */
#ifndef MT_HEADLINE_H
#define MT_HEADLINE_H

#include "analyzer/findings/analysis.h"

#include <stdio.h>

/* Write a sentence a line: an out-of-memory; the largest use of the device with the highest peak
 * and its line; growth from iteration to iteration; free memory in PyTorch's reserved memory, if
 * there is much. Write nothing if no memory was allocated. */
void mt_headline(const struct mt_analysis *analysis, FILE *out);

#endif
