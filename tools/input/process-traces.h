/* SPDX-License-Identifier: Apache-2.0 */
/* The traces that processes are writing. */
#ifndef MT_PROCESS_TRACES_H
#define MT_PROCESS_TRACES_H

#include "traces.h"

#include <sys/types.h>

/* Add the traces that a process and its descendants have open for writing. Return how many; -1: no
 * memory. */
int mt_process_traces_add(struct mt_trace_list *list, pid_t pid);

/* Keep only the traces that are still being written. Return how many. */
int mt_traces_keep_live(struct mt_trace_list *list);

#endif
