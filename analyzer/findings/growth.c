/* SPDX-License-Identifier: Apache-2.0 */
#include "growth.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#define LEAST_ITERATIONS 3u
struct remnant {
    uint32_t place, line, iteration; /* place: mt_stack_place of line */
    const struct mt_verdict *verdict;
};

static int by_place(const struct remnant *a, const struct remnant *b)
{
    int order = MT_COMPARE(a->place, b->place);
    return order ? order : MT_COMPARE(a->verdict->rule->category, b->verdict->rule->category);
}

static int by_place_and_iteration(const void *left, const void *right)
{
    const struct remnant *a = left, *b = right;
    int order = by_place(a, b);
    if (!order)
        order = MT_COMPARE(a->iteration, b->iteration);
    return order ? order : MT_COMPARE(a->line, b->line);
}

static int by_bytes(const void *left, const void *right)
{
    const struct mt_growth_site *a = left, *b = right;
    int order = MT_COMPARE(b->bytes, a->bytes);
    if (!order)
        order = MT_COMPARE(a->line, b->line);
    return order ? order : MT_COMPARE(a->category, b->category);
}

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
    if (mt_grow(&growth->site, capacity, growth->n + 1, sizeof *growth->site))
        return -ENOMEM;
    growth->site[growth->n++] = site;
    return 0;
}

int mt_growth_find(struct mt_growth *growth, const struct mt_spans *spans, uint32_t iteration,
                   const struct mt_definitions *definitions, const struct mt_verdict *verdicts,
                   size_t n)
{
    size_t capacity = 0, found = 0;
    int rc = 0;
    *growth = (struct mt_growth){.per_iteration = mt_spans_growth(spans)};
    if (!growth->per_iteration)
        return 0;
    struct remnant *remnants = calloc(n + 1, sizeof *remnants);
    if (!remnants)
        return -ENOMEM;
    found = collect(remnants, spans, iteration, definitions, verdicts, n);
    for (size_t i = 0, end; i < found && !rc; i = end) {
        for (end = i + 1; end < found && !by_place(&remnants[i], &remnants[end]);)
            end++;
        rc = add_site(growth, &capacity, remnants + i, remnants + end);
    }
    if (growth->n)
        qsort(growth->site, growth->n, sizeof *growth->site, by_bytes);
    free(remnants);
    return rc;
}

void mt_growth_clear(struct mt_growth *growth)
{
    free(growth->site);
    *growth = (struct mt_growth){0};
}
