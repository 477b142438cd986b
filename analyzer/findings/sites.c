/* SPDX-License-Identifier: Apache-2.0 */
#include "sites.h"
#include "analyzer/model/user-line.h"
#include "analyzer/trace/marks.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
    struct mt_site site;
    uint64_t largest;         /* block, the one with site.stack */
    uint64_t largest_guessed; /* and the one with site.guess */
    uint32_t place;           /* mt_stack_place of site.stack */
};

/* Merged from time to time, so that there is only room for a few more entries than sites. */
struct entries {
    struct entry *entry;
    size_t n, capacity;
};

#define FEWEST_ENTRIES 1024u

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
    entry.place = mt_stack_place(definitions, entry.site.stack);
    entry.largest = block->size;
    entry.largest_guessed = entry.site.guess ? block->size : 0;
    return entry;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = COMPARE(a->site.category, b->site.category);
    if (!order)
        order = COMPARE(a->place, b->place);
    if (!order)
        order = COMPARE(a->site.node_name, b->site.node_name);
    if (!order)
        order = COMPARE(a->site.name, b->site.name);
    if (!order) /* the site's stack is the largest block's */
        order = COMPARE(b->largest, a->largest);
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
    return a->site.category == b->site.category && a->place == b->place &&
           a->site.node_name == b->site.node_name && a->site.name == b->site.name;
}

static void add(struct entry *to, const struct entry *entry)
{
    to->site.bytes += entry->site.bytes;
    to->site.blocks += entry->site.blocks;
    if (!entry->site.guess || (to->site.guess && to->largest_guessed >= entry->largest_guessed))
        return;
    to->site.guess = entry->site.guess;
    to->largest_guessed = entry->largest_guessed;
}

static void put_together(struct entries *all)
{
    size_t n = 0;
    qsort(all->entry, all->n, sizeof *all->entry, by_key);
    for (size_t i = 0; i < all->n; i++) {
        if (n && same_site(&all->entry[n - 1], &all->entry[i]))
            add(&all->entry[n - 1], &all->entry[i]);
        else
            all->entry[n++] = all->entry[i];
    }
    all->n = n;
}

/* Make room for one more entry. The room doubles with the sites, so each entry is only sorted a few
 * times. */
static int make_room(struct entries *all)
{
    if (all->n < all->capacity)
        return 0;
    if (all->n)
        put_together(all);
    if (all->capacity && all->n <= all->capacity / 2)
        return 0;
    size_t more = all->capacity ? all->capacity * 2 : FEWEST_ENTRIES;
    struct entry *entry = reallocarray(all->entry, more, sizeof *entry);
    if (!entry)
        return -ENOMEM;
    all->entry = entry;
    all->capacity = more;
    return 0;
}

int mt_sites_collect(struct mt_sites *sites, const struct mt_definitions *definitions,
                     const struct mt_verdict *verdicts, size_t n)
{
    struct entries all = {NULL, 0, 0};
    *sites = (struct mt_sites){NULL, 0};
    for (size_t i = 0; i < n; i++) {
        if (make_room(&all)) {
            free(all.entry);
            return -ENOMEM;
        }
        all.entry[all.n++] = locate(definitions, &verdicts[i]);
    }
    if (all.n)
        put_together(&all);
    struct mt_site *site = calloc(all.n + 1, sizeof *site);
    for (size_t i = 0; site && i < all.n; i++)
        site[i] = all.entry[i].site;
    free(all.entry);
    if (!site)
        return -ENOMEM;
    if (all.n)
        qsort(site, all.n, sizeof *site, by_size);
    *sites = (struct mt_sites){site, all.n};
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
