/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/model/user-line.h"
#include "analyzer/trace/marks.h"
#include "sites.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
    struct mt_site site;
    uint32_t frame; /* of site.stack */
};

static struct entry locate(const struct mt_definitions *definitions,
                           const struct mt_verdict *verdict)
{
    const struct mt_block *block = verdict->block;
    struct entry entry = {.site = {.bytes = block->size,
                                   .blocks = 1,
                                   .category = verdict->rule->category,
                                   .stack = mt_line_stack(definitions, block),
                                   .node_name = block->node_name,
                                   .name = block->name,
                                   .guess = mt_guess_of(verdict)}};
    entry.frame = mt_stack(definitions, entry.site.stack)->frame;
    return entry;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = COMPARE(a->site.category, b->site.category);
    if (!order)
        order = COMPARE(a->frame, b->frame);
    if (!order)
        order = COMPARE(a->site.node_name, b->site.node_name);
    if (!order)
        order = COMPARE(a->site.name, b->site.name);
    if (!order) /* the stack that stands for the site: the largest block's */
        order = COMPARE(b->site.bytes, a->site.bytes);
    return order ? order : COMPARE(a->site.stack, b->site.stack);
}

static int by_size(const void *left, const void *right)
{
    const struct mt_site *a = left, *b = right;
    int order = COMPARE(b->bytes, a->bytes);
    if (!order)
        order = COMPARE(a->category, b->category);
    if (!order)
        order = COMPARE(a->stack, b->stack);
    if (!order)
        order = COMPARE(a->node_name, b->node_name);
    return order ? order : COMPARE(a->name, b->name);
}

static int same_site(const struct entry *a, const struct entry *b)
{
    return a->site.category == b->site.category && a->frame == b->frame &&
           a->site.node_name == b->site.node_name && a->site.name == b->site.name;
}

int mt_sites_collect(struct mt_sites *sites, const struct mt_definitions *definitions,
                     const struct mt_verdict *verdicts, size_t n)
{
    *sites = (struct mt_sites){NULL, 0};
    struct entry *entries = calloc(n + 1, sizeof *entries);
    struct mt_site *site = calloc(n + 1, sizeof *site);
    if (!entries || !site) {
        free(entries);
        free(site);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        entries[i] = locate(definitions, &verdicts[i]);
    qsort(entries, n, sizeof *entries, by_key);
    size_t n_sites = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && same_site(&entries[i - 1], &entries[i])) {
            site[n_sites - 1].bytes += entries[i].site.bytes;
            site[n_sites - 1].blocks++;
            if (!site[n_sites - 1].guess)
                site[n_sites - 1].guess = entries[i].site.guess;
        } else {
            site[n_sites++] = entries[i].site;
        }
    }
    free(entries);
    qsort(site, n_sites, sizeof *site, by_size);
    *sites = (struct mt_sites){site, n_sites};
    return 0;
}

void mt_sites_clear(struct mt_sites *sites)
{
    free(sites->site);
    *sites = (struct mt_sites){NULL, 0};
}

uint32_t mt_site_caller(const struct mt_definitions *definitions, const struct mt_site *site)
{
    if (!(mt_stack_frame(definitions, site->stack)->marks & MT_MARK_LIBRARY))
        return 0;
    uint32_t stack = mt_stack(definitions, site->stack)->parent;
    while (stack &&
           mt_stack_frame(definitions, stack)->marks & (MT_MARK_LIBRARY | MT_MARK_FRAMEWORK))
        stack = mt_stack(definitions, stack)->parent;
    return stack;
}
