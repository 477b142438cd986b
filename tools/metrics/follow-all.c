/* SPDX-License-Identifier: Apache-2.0 */
#include "follow-all.h"

#include <errno.h>

#define EVENTS_AT_ONCE 1000000u
#define HEADER 32u /* a shorter file has only just been created */

/* Return whether the trace may still appear: no file, or no header yet. */
static bool is_to_come(int rc, const struct mt_trace_error *fault)
{
    return rc == -ENOENT || fault->fault == MT_FAULT_EMPTY ||
           (fault->fault == MT_FAULT_CUT && fault->offset < HEADER);
}

static void read_one(struct mt_followed *trace, const struct mt_user_rules *rules)
{
    struct mt_trace_error fault;
    const struct mt_question question = {.rules = rules};
    int rc = trace->follow ? 0 : mt_follow_open(&trace->follow, trace->path, &question, &fault);
    if (rc) {
        trace->is_over = !is_to_come(rc, &fault);
        return;
    }
    do
        rc = mt_follow_poll(trace->follow, EVENTS_AT_ONCE, &fault);
    while (rc > 0);
    if (mt_follow_restarts(trace->follow) != trace->restarts) {
        trace->restarts = mt_follow_restarts(trace->follow);
        trace->n_stacks = 0;
    }
    trace->is_over = rc < 0 || mt_follow_is_over(trace->follow);
}

bool mt_follow_all(struct mt_followed *traces, size_t n, const struct mt_user_rules *rules)
{
    bool are_over = true;
    for (size_t i = 0; i < n; i++) {
        if (!traces[i].is_over)
            read_one(&traces[i], rules);
        are_over &= traces[i].is_over;
    }
    return are_over;
}

void mt_follow_all_end(struct mt_followed *traces, size_t n)
{
    for (size_t i = 0; traces && i < n; i++)
        mt_follow_close(traces[i].follow);
}
