/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <errno.h>

#define LEAST_ITERATIONS 3u
struct remnant {
    uint32_t place, line, iteration; /* place: mt_stack_place of line; or the forward call */
    const struct mt_verdict *verdict;
};

static int by_place(const struct remnant *a, const struct remnant *b)
{
    return MT_RISING(place) ?: MT_RISING(verdict->rule->category);
}

MT_ORDER(by_place_and_iteration, struct remnant,
         by_place(a, b) ?: MT_RISING(iteration) ?: MT_RISING(line))

MT_ORDER(by_bytes, struct mt_growth_site,
         MT_FALLING(bytes) ?: MT_RISING(line) ?: MT_RISING(category))

/* Forwards in a row without a backward: from a run on (mt_when.run), and the newest call. */
struct forwards {
    uint32_t first, newest;
};

static bool is_among(const struct mt_when *when, const struct forwards *forwards,
                     const struct mt_device *device)
{
    return when->run >= forwards->first && when->run <= device->span->run;
}

/* Return whether a block may be what a forward leaves behind: not of the model. */
static bool may_pass(const struct mt_verdict *verdict)
{
    enum mt_category category = verdict->rule->category;
    return category == MT_CATEGORY_ACTIVATIONS || category == MT_CATEGORY_INPUTS ||
           category == MT_CATEGORY_TEMPORARIES || category == MT_CATEGORY_OTHER;
}

/* Return a number of the earlier iteration, or forward, that left a block; 0: none did. */
static uint32_t left_by(const struct mt_device *device, const struct mt_verdict *verdict,
                        const struct forwards *forwards)
{
    const struct mt_when *when = &verdict->block->birth->when;
    if (forwards)
        return is_among(when, forwards, device) && when->calls != forwards->newest &&
                       may_pass(verdict)
                   ? when->calls + 1
                   : 0;
    const struct mt_span *span = mt_spans_at(device->spans, when->run);
    return span && span->iteration < device->span->iteration ? span->iteration : 0;
}

/* Find what holds most of the remnants. 0 or -ENOMEM. */
static int find_holder(struct mt_held_most *held, const struct mt_device *device,
                       const struct remnant *remnant, size_t n)
{
    struct mt_verdict *verdicts = device->n_held ? calloc(n, sizeof *verdicts) : NULL;
    if (!device->n_held)
        return 0;
    for (size_t i = 0; verdicts && i < n; i++)
        verdicts[i] = *remnant[i].verdict;
    int rc = verdicts ? mt_held_most_of(held, device, verdicts, n) : -ENOMEM;
    free(verdicts);
    return rc;
}

static int add_site(struct mt_growth *growth, size_t *capacity, const struct mt_device *device,
                    const struct remnant *first, const struct remnant *end)
{
    struct mt_growth_site site = {.line = first->line, .category = first->verdict->rule->category};
    for (const struct remnant *at = first; at < end; at++) {
        site.iterations += at == first || at->iteration != at[-1].iteration;
        site.bytes += at->verdict->block->size;
        if (mt_certainty_of(at->verdict->rule) > site.certainty)
            site.certainty = mt_certainty_of(at->verdict->rule);
    }
    if (site.iterations < LEAST_ITERATIONS)
        return 0;
    int rc = find_holder(&site.held, device, first, (size_t)(end - first));
    if (!rc)
        rc = MT_APPEND(growth->site, *capacity, growth->n, site);
    if (rc)
        mt_held_most_clear(&site.held);
    return rc;
}

/* Add the lines of sorted remnants, the largest first. */
static int add_sites(struct mt_growth *growth, const struct mt_device *device,
                     const struct remnant *remnants, size_t n)
{
    size_t capacity = 0;
    int rc = 0;
    for (size_t i = 0, end; i < n && !rc; i = end) {
        for (end = i + 1; end < n && !by_place(&remnants[i], &remnants[end]);)
            end++;
        rc = add_site(growth, &capacity, device, remnants + i, remnants + end);
    }
    if (growth->n)
        qsort(growth->site, growth->n, sizeof *growth->site, by_bytes);
    return rc;
}

static int find(struct mt_growth *growth, const struct mt_device *device,
                const struct forwards *forwards)
{
    struct remnant *remnants = calloc(device->n_verdicts + 1, sizeof *remnants);
    size_t n = 0;
    if (!remnants)
        return -ENOMEM;
    for (size_t i = 0; i < device->n_verdicts; i++) {
        const struct mt_verdict *verdict = &device->verdicts[i];
        uint32_t iteration = left_by(device, verdict, forwards);
        uint32_t line = iteration ? mt_line_stack(device->context.definitions, verdict->block) : 0;
        if (iteration)
            remnants[n++] = (struct remnant){mt_stack_place(device->context.definitions, line),
                                             line, iteration, verdict};
    }
    qsort(remnants, n, sizeof *remnants, by_place_and_iteration);
    int rc = add_sites(growth, device, remnants, n);
    free(remnants);
    return rc;
}

int mt_growth_find(struct mt_growth *growth, const struct mt_device *device)
{
    growth->per_iteration = mt_spans_growth(device->spans);
    return growth->per_iteration ? find(growth, device, NULL) : 0;
}

int mt_growth_find_forwards(struct mt_growth *growth, const struct mt_device *device)
{
    uint32_t usual = mt_spans_calls_before_backward(device->spans);
    const struct mt_span *first = device->span;
    while (first > device->spans->span && first[-1].phase == MT_PHASE_FORWARD)
        first--;
    struct forwards forwards = {.first = first->run};
    for (size_t i = 0; i < device->n_verdicts; i++) {
        const struct mt_when *when = &device->verdicts[i].block->birth->when;
        if (is_among(when, &forwards, device) && when->calls > forwards.newest)
            forwards.newest = when->calls;
    }
    if (!usual || forwards.newest - first->calls < 2 * usual)
        return 0;
    int rc = find(growth, device, &forwards);
    if (growth->n)
        growth->per_iteration = growth->site[0].bytes / growth->site[0].iterations;
    return rc;
}

void mt_growth_clear(struct mt_growth *growth)
{
    for (size_t i = 0; i < growth->n; i++)
        mt_held_most_clear(&growth->site[i].held);
    free(growth->site);
    *growth = (struct mt_growth){0};
}
