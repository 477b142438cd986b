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

/* Collect the blocks of earlier iterations, sorted by line and category. */
static size_t collect(struct remnant *remnants, const struct mt_spans *spans, uint32_t iteration,
                      const struct mt_definitions *definitions, const struct mt_verdict *verdicts,
                      size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_block *block = verdicts[i].block;
        const struct mt_span *span = mt_spans_at(spans, block->birth->when.run);
        if (!span || !span->iteration || span->iteration >= iteration)
            continue;
        uint32_t line = mt_line_stack(definitions, block);
        remnants[found++] = (struct remnant){mt_stack_place(definitions, line), line,
                                             span->iteration, &verdicts[i]};
    }
    qsort(remnants, found, sizeof *remnants, by_place_and_iteration);
    return found;
}

static int add_site(struct mt_growth *growth, size_t *capacity, const struct remnant *first,
                    const struct remnant *end)
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
    return MT_APPEND(growth->site, *capacity, growth->n, site);
}

/* Add the lines of sorted remnants, the largest first. */
static int add_sites(struct mt_growth *growth, const struct remnant *remnants, size_t n)
{
    size_t capacity = 0;
    int rc = 0;
    for (size_t i = 0, end; i < n && !rc; i = end) {
        for (end = i + 1; end < n && !by_place(&remnants[i], &remnants[end]);)
            end++;
        rc = add_site(growth, &capacity, remnants + i, remnants + end);
    }
    if (growth->n)
        qsort(growth->site, growth->n, sizeof *growth->site, by_bytes);
    return rc;
}

int mt_growth_find(struct mt_growth *growth, const struct mt_spans *spans, uint32_t iteration,
                   const struct mt_definitions *definitions, const struct mt_verdict *verdicts,
                   size_t n)
{
    *growth = (struct mt_growth){.per_iteration = mt_spans_growth(spans)};
    if (!growth->per_iteration)
        return 0;
    struct remnant *remnants = calloc(n + 1, sizeof *remnants);
    if (!remnants)
        return -ENOMEM;
    size_t found = collect(remnants, spans, iteration, definitions, verdicts, n);
    int rc = add_sites(growth, remnants, found);
    free(remnants);
    return rc;
}

/* Return whether a block may be what a forward leaves behind: not of the model. */
static bool may_pass(const struct mt_verdict *verdict)
{
    enum mt_category category = verdict->rule->category;
    return category == MT_CATEGORY_ACTIVATIONS || category == MT_CATEGORY_INPUTS ||
           category == MT_CATEGORY_TEMPORARIES || category == MT_CATEGORY_OTHER;
}

static bool is_between(const struct mt_when *when, uint32_t first, uint32_t last)
{
    return when->run >= first && when->run <= last;
}

int mt_growth_find_forwards(struct mt_growth *growth, const struct mt_spans *spans, uint32_t run,
                            const struct mt_definitions *definitions,
                            const struct mt_verdict *verdicts, size_t n)
{
    *growth = (struct mt_growth){0};
    uint32_t usual = mt_spans_calls_before_backward(spans), newest = 0;
    const struct mt_span *first = mt_spans_at(spans, run);
    while (first > spans->span && first[-1].phase == MT_PHASE_FORWARD)
        first--;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_when *when = &verdicts[i].block->birth->when;
        if (is_between(when, first->run, run) && when->calls > newest)
            newest = when->calls;
    }
    if (!usual || newest - first->calls < 2 * usual)
        return 0;
    struct remnant *remnants = calloc(n + 1, sizeof *remnants);
    if (!remnants)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct mt_when *when = &verdicts[i].block->birth->when;
        if (!is_between(when, first->run, run) || when->calls == newest || !may_pass(&verdicts[i]))
            continue;
        uint32_t line = mt_line_stack(definitions, verdicts[i].block);
        remnants[found++] =
            (struct remnant){mt_stack_place(definitions, line), line, when->calls, &verdicts[i]};
    }
    qsort(remnants, found, sizeof *remnants, by_place_and_iteration);
    int rc = add_sites(growth, remnants, found);
    if (growth->n)
        growth->per_iteration = growth->site[0].bytes / growth->site[0].iterations;
    free(remnants);
    return rc;
}

void mt_growth_clear(struct mt_growth *growth)
{
    free(growth->site);
    *growth = (struct mt_growth){0};
}

int mt_leaks_find(struct mt_sums *leaks, const struct mt_replay *replay, unsigned slot)
{
    const struct mt_heap *heap = &replay->cuda.heap;
    *leaks = (struct mt_sums){0};
    if (!replay->survey.complete || mt_info(replay->definitions, "torch"))
        return 0;
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (block->state == MT_BLOCK_LIVE && mt_device_slot(block->device) == slot &&
            mt_sums_count(leaks, block->stack, block->size))
            return -ENOMEM;
    }
    mt_sums_sort(leaks);
    return 0;
}
