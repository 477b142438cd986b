/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a trace for its compact copy: the events of blocks that are live at a kept moment;
 * events that change the program's phase; PyTorch's segments and mappings; and for the highest and
 * the lowest of each phase an event with the totals.
 */
#ifndef MT_KEEP_PLAN_H
#define MT_KEEP_PLAN_H

#include <stdbool.h>

#include "analyzer/replay/summaries.h"
#include "analyzer/trace/ended.h"
#include "keep-nodes.h"
#include "trace-format/reader.h"

struct mt_keep_plan {
    struct mt_kept kept;
    uint64_t events, bytes; /* of the whole trace */
    bool is_compact;        /* it is compact already: no plan */
    bool is_complete;       /* the recording was closed: end */
    bool is_whole_but_end;  /* it was not, yet nothing else is missing */
    enum mt_trace_state state;
    struct mt_ended ended;
    struct mt_end end;
    struct mt_summaries summaries; /* figures that need all events */
};

/* Read a trace twice. Return 0, or a negative errno, with *error filled if the trace cannot be read
 * or is invalid (-EINVAL). Call mt_keep_plan_clear in any case. */
int mt_keep_plan_make(struct mt_keep_plan *plan, const char *path, struct mt_trace_error *error);
void mt_keep_plan_clear(struct mt_keep_plan *plan);

#endif
