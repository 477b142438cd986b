/* SPDX-License-Identifier: Apache-2.0 */
/* What commands that follow a run take: a process, a folder, a trace, or nothing. */
#ifndef MT_LIVE_TRACES_H
#define MT_LIVE_TRACES_H

#include "traces.h"

/* Adds what the operands mean: a number that is no file is a process, and all its traces are meant;
 * of a folder, and of the current one where there is no operand, the traces that are still written;
 * else a trace. An exit code: MT_EXIT_BAD after a message. */
int mt_find_live_traces(struct mt_trace_list *list, char **operands, int n);

#endif
