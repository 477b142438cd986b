/* SPDX-License-Identifier: Apache-2.0 */
/* One line of OpenMetrics text: a name, labels, a value. */
#ifndef MT_METRICS_SAMPLE_LINE_H
#define MT_METRICS_SAMPLE_LINE_H

#include <stdio.h>

#include "figures.h"

struct mt_own_label {
    const char *name, *value; /* a value of "" is left out, as if the label were not there */
};

/* Write a sample of a family. suffix: "_total" or "". device NULL: of the whole trace. labels:
 * beside trace, rank and device; a name of NULL ends them; NULL: none. value: a number. */
void mt_sample_line(FILE *out, const char *family, const char *suffix,
                    const struct mt_figures *figures, const struct mt_device_figures *device,
                    const struct mt_own_label *labels, const char *value);

/* The same for a whole number. */
void mt_sample_count(FILE *out, const char *family, const char *suffix,
                     const struct mt_figures *figures, const struct mt_device_figures *device,
                     const struct mt_own_label *labels, uint64_t value);

#endif
