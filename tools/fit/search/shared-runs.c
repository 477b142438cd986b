/* SPDX-License-Identifier: Apache-2.0 */
#include "shared-runs.h"

#include <math.h>

#define LIKELY 0.3 /* part of PyTorch's cache that has to be there */
#define NEAR 32    /* values: below, two runs are enough */
#define FAR 1.5
#define REFUSALS 3u /* of small values; then the program takes none */

/* The last position whose value is at most this; the first where none is. */
static size_t last_up_to(const struct mt_job *job, double most)
{
    size_t low = 0, high = mt_job_positions(job);
    while (high - low > 1) {
        size_t at = low + (high - low) / 2;
        if ((double)mt_search_value(job, at) <= most)
            low = at;
        else
            high = at;
    }
    return low;
}

/* By the geometric mean of the first value and the last. */
static size_t middle(const struct mt_job *job)
{
    double first = (double)mt_search_value(job, 0),
           last = (double)mt_search_value(job, mt_job_positions(job) - 1);
    return last_up_to(job, sqrt((first < 1 ? 1 : first) * last));
}

static void ask(struct mt_fit_line *line, size_t position)
{
    for (size_t i = 0; i < line->n_shared; i++)
        if (line->shared[i].position == position)
            return;
    if (line->n_shared < MT_SHARED_RUNS)
        line->shared[line->n_shared++].position = position;
}

void mt_shared_plan(const struct mt_job *job, struct mt_fit_line *line)
{
    line->cache = -1;
    if (mt_job_positions(job) < 3)
        return;
    ask(line, 0);
    ask(line, middle(job) ? middle(job) : 1);
}

void mt_shared_ask_first(struct mt_fit_line *line)
{
    ask(line, 0);
}

int mt_shared_next(struct mt_fit_line *line, size_t *position)
{
    for (size_t i = 0; i < line->n_shared; i++) {
        if (line->shared[i].is_started)
            continue;
        line->shared[i].is_started = 1;
        *position = line->shared[i].position;
        return 1;
    }
    return 0;
}

int mt_shared_are_over(const struct mt_fit_line *line)
{
    for (size_t i = 0; i < line->n_shared; i++)
        if (!line->shared[i].is_over)
            return 0;
    return 1;
}

int mt_shared_learn(const struct mt_job *job, struct mt_fit_line *line,
                    const struct mt_attempt *attempt)
{
    const struct mt_outcome *outcome = attempt->outcome;
    uint64_t context = job->card[attempt->card].gpu->context;
    struct mt_estimate_point point = {.value = mt_search_value(job, attempt->choice.at),
                                      .used = outcome->used > context ? outcome->used - context : 0,
                                      .floor =
                                          outcome->floor > context ? outcome->floor - context : 0,
                                      .need = outcome->need > context ? outcome->need - context : 0,
                                      .host = outcome->host};
    return job->searched < 0 ? 0 : mt_estimate_add(&line->estimate, point);
}

/* Where the border is far from what was run, one more run near to it makes all guesses good. */
static void ask_near(const struct mt_fit *fit, struct mt_fit_line *line)
{
    const struct mt_job *job = fit->job;
    uint64_t memory = 0,
             most = line->estimate.n ? line->estimate.point[line->estimate.n - 1].value : 0;
    double last = (double)mt_search_value(job, mt_job_positions(job) - 1);
    for (size_t i = 0; i < job->n_cards; i++)
        memory = mt_room_of_card(job, i) > memory ? mt_room_of_card(job, i) : memory;
    double border = mt_estimate_replayed(&line->estimate, memory);
    if (border < 0)
        border = mt_estimate_border(&line->estimate, memory, LIKELY);
    border = border > last ? last : border;
    if (line->estimate.n != 2 || border < NEAR ||
        (border < FAR * (double)most && border > (double)most / FAR))
        return;
    ask(line, last_up_to(job, border));
}

/* Positions below the first that runs are not looked at any more. */
static void begin_searches(struct mt_fit *fit, struct mt_fit_line *line)
{
    size_t first = MT_NONE;
    uint64_t smaller, larger;
    for (size_t i = 0; i < line->n_shared; i++)
        if (line->shared[i].outcome.end == MT_FIT_FITS && line->shared[i].position < first)
            first = line->shared[i].position;
    for (size_t card = 0; card < fit->job->n_cards; card++) {
        struct mt_card_search *search = mt_fit_search(fit, (size_t)(line - fit->line), card);
        search->first = first;
        search->may_fall = mt_estimate_falls(&line->estimate, &smaller, &larger);
    }
    line->is_refused = first == MT_NONE;
}

/* Where the smallest value is refused, twice that and so on may be taken (BatchNorm refuses a batch
 * of 1). */
static void ask_further(const struct mt_job *job, struct mt_fit_line *line, size_t position)
{
    size_t next = 2 * position + 1;
    unsigned refused = 0, fits = 0;
    for (size_t i = 0; i < line->n_shared; i++) {
        refused += line->shared[i].is_over && line->shared[i].outcome.end != MT_FIT_FITS;
        fits += line->shared[i].is_over && line->shared[i].outcome.end == MT_FIT_FITS &&
                line->shared[i].position <= next;
    }
    if (!fits && refused <= REFUSALS && next < mt_job_positions(job))
        ask(line, next);
}

int mt_shared_take(struct mt_fit *fit, struct mt_fit_line *line, const struct mt_attempt *attempt)
{
    const struct mt_outcome *outcome = attempt->outcome;
    int rc = 0;
    for (size_t i = 0; i < line->n_shared; i++) {
        if (line->shared[i].position != attempt->choice.at)
            continue;
        line->shared[i].is_over = 1;
        line->shared[i].outcome = *outcome;
    }
    if (outcome->end == MT_FIT_FITS) {
        rc = mt_shared_learn(fit->job, line, attempt);
    } else {
        line->refused_at = attempt->choice.at;
        line->refusal = *outcome;
        if (attempt->choice.at < mt_job_positions(fit->job) / 2 && outcome->end == MT_FIT_REFUSED)
            ask_further(fit->job, line, attempt->choice.at);
    }
    if (!rc && mt_shared_are_over(line))
        ask_near(fit, line);
    if (!rc && mt_shared_are_over(line))
        begin_searches(fit, line);
    return rc;
}
