/* SPDX-License-Identifier: Apache-2.0 */
/* A small copy of a trace: the events that its reports need. */
#ifndef MT_COMPACT_H
#define MT_COMPACT_H

#include "keep-plan.h"

#include <stdio.h>

/* Write the events that the plan keeps of the trace at path to out. 0; or a negative errno: with
 * *error filled if the trace cannot be read, else a write error. */
int mt_compact(const char *path, const struct mt_keep_plan *plan, FILE *out,
               struct mt_trace_error *error);

#endif
