/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of commands that follow a run: a process, a folder, a trace, or nothing. */
#ifndef MT_LIVE_TRACES_H
#define MT_LIVE_TRACES_H

#include "traces.h"

/* Add the operands' traces. A number that is no file is a process: add all its traces. A folder, or
 * the current one without an operand: add the traces that are still being written. Anything else is
 * a trace. Return an exit code: MT_EXIT_BAD after a message. */
int mt_find_live_traces(struct mt_trace_list *list, char **operands, int n);

#endif
