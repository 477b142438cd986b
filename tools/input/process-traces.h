/* SPDX-License-Identifier: Apache-2.0 */
/* The traces that processes write just now. */
#ifndef MT_PROCESS_TRACES_H
#define MT_PROCESS_TRACES_H

#include "traces.h"

#include <sys/types.h>

/* Adds the traces that a process and its descendants write, by their open files: how many; -1: no memory. */
int mt_process_traces_add(struct mt_trace_list *list, pid_t pid);

/* Of traces, leaves those that are still written: how many. The others are taken out. */
int mt_traces_keep_live(struct mt_trace_list *list);

#endif
