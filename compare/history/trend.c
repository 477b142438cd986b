/* SPDX-License-Identifier: Apache-2.0 */
#include "trend.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <stdbool.h>
#include <stdlib.h>

const enum mt_run_text mt_run_causes[] = {MT_RUN_COMMAND, MT_RUN_DEVICE, MT_RUN_ALLOCATOR,
                                          MT_RUN_TORCH,   MT_RUN_CUDA,   MT_RUN_PYTHON};
const size_t mt_run_causes_count = sizeof mt_run_causes / sizeof *mt_run_causes;

/* Separate the runs that cannot be compared. Return 0 or -ENOMEM. */
static int leave_out(struct mt_trend *trend, mt_allowed_ends allowed)
{
    size_t kept = 0;
    trend->left_out.run = calloc(trend->runs.n + 1, sizeof *trend->left_out.run);
    if (!trend->left_out.run)
        return -ENOMEM;
    for (size_t i = 0; i < trend->runs.n; i++) {
        struct mt_run *run = &trend->runs.run[i];
        if (mt_run_is_good(run, allowed) && run->has_memory)
            trend->runs.run[kept++] = *run;
        else
            trend->left_out.run[trend->left_out.n++] = *run;
    }
    trend->runs.n = kept;
    return 0;
}

static int find_changes(struct mt_trend *trend)
{
    size_t n = trend->runs.n;
    double *value = calloc(n + 1, sizeof *value);
    int rc = value ? 0 : -ENOMEM;
    for (unsigned series = 0; !rc && series < mt_series_count(); series++) {
        for (size_t i = 0; i < n; i++)
            value[i] = (double)trend->runs.run[i].bytes[series];
        rc = mt_changes_find(&trend->changes[series], value, n);
    }
    free(value);
    return rc;
}

/* Return whether the step of a series belongs to a night: noise may move it by one. */
static bool is_of(const struct mt_trend_step *night, const struct mt_step *step, bool is_exact)
{
    return night->at == step->at ||
           (!is_exact && (night->at == step->at + 1 || night->at + 1 == step->at));
}

static int add_step(struct mt_trend *trend, size_t *capacity, unsigned series, struct mt_step *step)
{
    bool is_exact = trend->changes[series].is_exact;
    for (size_t i = 0; i < trend->n_steps; i++) {
        struct mt_trend_step *night = &trend->step[i];
        if (!night->of[series] && is_of(night, step, is_exact)) {
            night->of[series] = step;
            return 0;
        }
    }
    if (MT_GROW(trend->step, *capacity, trend->n_steps))
        return -ENOMEM;
    trend->step[trend->n_steps] = (struct mt_trend_step){.at = step->at};
    trend->step[trend->n_steps++].of[series] = step;
    return 0;
}

MT_ORDER(by_night, struct mt_trend_step, MT_RISING(at))

/* Group series without noise first: their night is exact. */
static int group_steps(struct mt_trend *trend)
{
    size_t capacity = 0;
    int rc = 0;
    for (int is_exact = 1; is_exact >= 0; is_exact--)
        for (unsigned i = 0; i < mt_series_count(); i++)
            for (size_t j = 0; !rc && j < trend->changes[i].n_steps; j++)
                if (trend->changes[i].is_exact == is_exact)
                    rc = add_step(trend, &capacity, i, &trend->changes[i].step[j]);
    if (trend->n_steps)
        qsort(trend->step, trend->n_steps, sizeof *trend->step, by_night);
    return rc;
}

/* Read the runs: the newest match determines the program and branch to follow. */
static int read_runs(struct mt_trend *trend, struct mt_store *store,
                     const struct mt_run_filter *filter)
{
    struct mt_run_filter newest = *filter, others = *filter;
    struct mt_runs first;
    newest.last = 1;
    int rc = mt_history_runs(store, &newest, &first);
    if (!rc && first.n) {
        others.program = first.run->text[MT_RUN_PROGRAM];
        others.branch = first.run->text[MT_RUN_BRANCH];
        rc = mt_history_runs(store, &others, &trend->runs);
    }
    mt_runs_clear(&first);
    return rc;
}

int mt_trend_find(struct mt_trend *trend, struct mt_store *store,
                  const struct mt_run_filter *filter)
{
    *trend = (struct mt_trend){0};
    if (read_runs(trend, store, filter))
        return -1;
    if (leave_out(trend, filter->allowed) || find_changes(trend) || group_steps(trend))
        mt_store_no_memory(store);
    return store->failed ? -1 : 0;
}

void mt_trend_clear(struct mt_trend *trend)
{
    for (unsigned i = 0; i < mt_series_count(); i++)
        mt_changes_clear(&trend->changes[i]);
    mt_runs_clear(&trend->runs);
    mt_runs_clear(&trend->left_out);
    free(trend->step);
    trend->step = NULL;
}
