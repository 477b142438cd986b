/* SPDX-License-Identifier: Apache-2.0 */
/* A small copy of a trace: the events that its reports need. */
#ifndef MT_COMPACT_H
#define MT_COMPACT_H

#include "analyzer/replay/summaries.h"
#include "analyzer/trace/ended.h"
#include "keep-nodes.h"
#include "trace-format/reader.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * The events of a trace for its compact copy: the events of blocks that are live at a kept moment;
 * events that change the program's phase; PyTorch's segments and mappings; and for the highest and
 * the lowest of each phase an event with the totals.
 */

struct mt_keep_plan {
    struct mt_kept kept;
    uint64_t events, bytes;  /* of the whole trace */
    bool is_compact;         /* already compact: no plan */
    bool is_complete;        /* the recording was closed: end */
    bool lacks_only_its_end; /* not closed, but nothing else is missing */
    enum mt_trace_state state;
    struct mt_ended ended;
    struct mt_end end;
    struct mt_summaries summaries; /* figures that are computed from all events */
};

/* Read a trace twice. Return 0, or a negative errno, with *error filled if the trace cannot be read
 * or is invalid (-EINVAL). Call mt_keep_plan_clear in any case. */
int mt_keep_plan_make(struct mt_keep_plan *plan, const char *path, struct mt_trace_error *error);
void mt_keep_plan_clear(struct mt_keep_plan *plan);

/* Write the events of the trace at path that the plan keeps to out. Return 0 or a negative errno,
 * with *error filled if the trace cannot be read; otherwise it is a write error. */
int mt_compact(const char *path, const struct mt_keep_plan *plan, FILE *out,
               struct mt_trace_error *error);

#endif
