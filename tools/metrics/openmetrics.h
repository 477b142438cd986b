/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of traces as OpenMetrics text, version 1.0, of types that node_exporter's textfile
 * collector reads, too.
 */
#ifndef MT_METRICS_OPENMETRICS_H
#define MT_METRICS_OPENMETRICS_H

#include <stdio.h>

#include "figures.h"

/* Write all families, and the end. Errors stay with the file. */
void mt_openmetrics_write(FILE *out, const struct mt_figures *figures, size_t n);

#endif
