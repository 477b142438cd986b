/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events of a trace make a compact one: those of the blocks that are live at a moment that is
 * kept, with all that was said of them; what changes the phase that the program is in; PyTorch's
 * segments and what is mapped; and for the highest and the lowest of each phase an event that
 * carries the totals.
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
    bool is_compact;        /* it was already: there is no plan */
    bool is_complete;       /* the recording was closed: end */
    bool is_whole_but_end;  /* it was not, yet nothing is missing */
    enum mt_trace_state state;
    struct mt_ended ended;
    struct mt_end end;
    struct mt_summaries summaries; /* what only all events can tell */
};

/* Reads a trace twice. 0, or a negative errno, with *error filled where the trace cannot be read or
 * is not sound (-EINVAL). To be cleared in any case. */
int mt_keep_plan_make(struct mt_keep_plan *plan, const char *path, struct mt_trace_error *error);
void mt_keep_plan_clear(struct mt_keep_plan *plan);

#endif
