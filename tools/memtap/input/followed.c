/* SPDX-License-Identifier: Apache-2.0 */
#include "followed.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define EVENTS_AT_ONCE 1000000u
#define HEADER 32u /* a shorter file is still being created */
#define LOOK_S 0.5 /* latency of noticing an end */

struct mt_followed *mt_followed_create(char *const *paths, size_t n)
{
    struct mt_followed *traces = calloc(n, sizeof *traces);
    for (size_t i = 0; traces && i < n; i++)
        traces[i].path = paths[i];
    return traces;
}

void mt_followed_destroy(struct mt_followed *traces, size_t n)
{
    for (size_t i = 0; traces && i < n; i++)
        mt_follow_close(traces[i].follow);
    free(traces);
}

bool mt_trace_is_to_come(int rc, const struct mt_trace_error *fault)
{
    return rc == -ENOENT || fault->fault == MT_FAULT_EMPTY ||
           (fault->fault == MT_FAULT_CUT && fault->offset < HEADER);
}

static void read_one(struct mt_followed *trace, const struct mt_question *question)
{
    struct mt_trace_error fault;
    int rc = trace->follow ? 0 : mt_follow_open(&trace->follow, trace->path, question, &fault);
    if (rc) {
        trace->is_over = !mt_trace_is_to_come(rc, &fault);
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

bool mt_followed_read(struct mt_followed *traces, size_t n, const struct mt_question *question)
{
    bool are_over = true;
    for (size_t i = 0; i < n; i++) {
        if (!traces[i].is_over)
            read_one(&traces[i], question);
        are_over &= traces[i].is_over;
    }
    return are_over;
}

int mt_followed_define(struct mt_followed *trace)
{
    struct mt_definitions *definitions = mt_follow_replay(trace->follow)->definitions;
    uint32_t n = mt_definitions_stack_limit(definitions);
    if (n == trace->n_stacks)
        return 0;
    trace->n_stacks = n;
    return mt_definitions_finish(definitions);
}

void mt_followed_wait(double seconds)
{
    double part = seconds < LOOK_S ? seconds : LOOK_S;
    struct timespec time = {0, (long)(part * 1e9)};
    nanosleep(&time, NULL);
}
