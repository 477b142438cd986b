/* SPDX-License-Identifier: Apache-2.0 */
#include "growth.h"
#include "analyzer/support/grow.h"

#define LEAST_ITERATIONS 3u

struct remnant {
    uint32_t stack, iteration;
    const struct mt_verdict *verdict;
};

static int by_stack(const void *left, const void *right)
{
    const struct remnant *a = left, *b = right;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return (a->iteration > b->iteration) - (a->iteration < b->iteration);
}

static int by_bytes(const void *left, const void *right)
{
    const struct mt_growth_site *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Collect the blocks of earlier iterations, sorted by stack. */
static size_t collect(struct remnant *remnants, const struct mt_spans *spans, uint32_t iteration,
                      const struct mt_verdict *verdicts, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_span *span = mt_spans_at(spans, verdicts[i].block->birth->when.run);
        if (span && span->iteration && span->iteration < iteration)
            remnants[found++] =
                (struct remnant){verdicts[i].block->stack, span->iteration, &verdicts[i]};
    }
    qsort(remnants, found, sizeof *remnants, by_stack);
    return found;
}

static int add_site(struct mt_growth *growth, size_t *capacity, const struct remnant *first,
                    const struct remnant *end)
{
    struct mt_growth_site site = {.stack = first->stack,
                                  .category = first->verdict->rule->category};
    for (const struct remnant *at = first; at < end; at++) {
        site.iterations += at == first || at->iteration != at[-1].iteration;
        site.bytes += at->verdict->block->size;
    }
    if (site.iterations < LEAST_ITERATIONS)
        return 0;
    if (mt_grow(&growth->site, capacity, growth->n + 1, sizeof *growth->site))
        return -ENOMEM;
    growth->site[growth->n++] = site;
    return 0;
}

int mt_growth_find(struct mt_growth *growth, const struct mt_spans *spans, uint32_t iteration,
                   const struct mt_verdict *verdicts, size_t n)
{
    size_t capacity = 0, found = 0;
    int rc = 0;
    *growth = (struct mt_growth){.per_iteration = mt_spans_growth(spans)};
    if (!growth->per_iteration)
        return 0;
    struct remnant *remnants = calloc(n + 1, sizeof *remnants);
    if (!remnants)
        return -ENOMEM;
    found = collect(remnants, spans, iteration, verdicts, n);
    for (size_t i = 0, end; i < found && !rc; i = end) {
        for (end = i + 1; end < found && remnants[end].stack == remnants[i].stack;)
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
