/* SPDX-License-Identifier: Apache-2.0 */
#include "module-tree.h"
#include "analyzer/classify/modules.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS 1000000u

static void note_certainty(struct mt_module_facts *facts, unsigned category, unsigned certainty)
{
    if (certainty > facts->certainty[category])
        facts->certainty[category] = (uint8_t)certainty;
}

static void count_facts(struct mt_module_facts *facts, const struct mt_verdict *verdict)
{
    unsigned category = verdict->rule->category;
    if (verdict->block->size > MT_LARGE_OVER) {
        facts->large_bytes += verdict->block->size;
        facts->large_blocks++;
    }
    facts->category[category] += verdict->block->size;
    note_certainty(facts, category, mt_certainty_of(verdict->rule));
}

static int add(struct mt_module_tree *modules, const struct mt_frame *call,
               const struct mt_verdict *verdict)
{
    struct mt_tree *tree = &modules->tree;
    uint32_t at = mt_tree_text(tree, MT_TREE_ROOT, MT_BY_MODULE, call->root);
    if (*call->path)
        at = mt_tree_parts(tree, at, MT_BY_MODULE, call->path);
    mt_tree_count(tree, at, verdict->block->size, 1);
    if (tree->has_no_memory || MT_GROW(modules->facts, modules->facts_capacity, tree->n))
        return -ENOMEM;
    for (;; at = tree->node[at].parent) {
        count_facts(&modules->facts[at], verdict);
        if (at == MT_TREE_ROOT)
            return 0;
    }
}

/* Return a layer's number; -1: not a layer. */
static long number_of(const struct mt_tree *tree, uint32_t node)
{
    const char *name = mt_tree_name(tree, node);
    char *end;
    unsigned long number = isdigit((unsigned char)*name) ? strtoul(name, &end, 10) : 0;
    return isdigit((unsigned char)*name) && !*end && number < MOST_LAYERS ? (long)number : -1;
}

/* Compare layers by number, after all other parts, which are by bytes. */
static int by_rank(const void *left, const void *right, void *data)
{
    const struct mt_tree *tree = data;
    uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
    const struct mt_tree_node *a = &tree->node[one], *b = &tree->node[other];
    return MT_COMPARE(number_of(tree, one), number_of(tree, other)) ?: MT_FALLING(bytes)
           ?: strcmp(mt_tree_name(tree, one), mt_tree_name(tree, other));
}

static int sort_children(struct mt_tree *tree, uint32_t parent)
{
    size_t n;
    uint32_t *children = mt_tree_children(tree, parent, 0, &n);
    if (!children)
        return -ENOMEM;
    qsort_r(children, n, sizeof *children, by_rank, tree);
    uint32_t *link = &tree->node[parent].first;
    for (size_t i = 0; i < n; i++, link = &tree->node[*link].next)
        *link = children[i];
    *link = 0;
    free(children);
    return 0;
}

/* Return whether the blocks of two modules may hold equal tensors. */
static bool has_alike_blocks(const struct mt_module_tree *modules, uint32_t a, uint32_t b)
{
    const struct mt_tree_node *left = &modules->tree.node[a], *right = &modules->tree.node[b];
    const struct mt_module_facts *one = &modules->facts[a], *other = &modules->facts[b];
    uint64_t more = one->large_bytes > other->large_bytes ? one->large_bytes - other->large_bytes
                                                          : other->large_bytes - one->large_bytes;
    return left->blocks == right->blocks && one->large_blocks == other->large_blocks &&
           left->bytes - one->large_bytes == right->bytes - other->large_bytes &&
           more <= one->large_blocks * MT_LARGE_OVER;
}

/* Return whether two modules have the same parts with the same blocks; their children are in
 * order. */
static bool is_alike(const struct mt_module_tree *modules, uint32_t a, uint32_t b)
{
    const struct mt_tree_node *node = modules->tree.node;
    if (!has_alike_blocks(modules, a, b))
        return false;
    for (a = node[a].first, b = node[b].first; a && b; a = node[a].next, b = node[b].next)
        if (node[a].value != node[b].value || modules->facts[a].last != modules->facts[b].last ||
            !is_alike(modules, a, b))
            return false;
    return a == b;
}

static void take_in(struct mt_module_tree *modules, uint32_t to, uint32_t from)
{
    struct mt_tree_node *node = modules->tree.node;
    struct mt_module_facts *into = &modules->facts[to], *merged = &modules->facts[from];
    node[to].bytes += node[from].bytes;
    node[to].blocks += node[from].blocks;
    into->large_bytes += merged->large_bytes;
    into->large_blocks += merged->large_blocks;
    for (unsigned i = 0; i < mt_n_categories; i++) {
        into->category[i] += merged->category[i];
        note_certainty(into, i, merged->certainty[i]);
    }
    for (to = node[to].first, from = node[from].first; to && from;
         to = node[to].next, from = node[from].next)
        take_in(modules, to, from);
}

/* Merge runs of equal layers. */
static void fold(struct mt_module_tree *modules, uint32_t parent)
{
    struct mt_tree_node *node = modules->tree.node;
    for (uint32_t at = node[parent].first; at; at = node[at].next) {
        uint32_t end = node[at].next;
        long number = number_of(&modules->tree, at), last = number;
        while (number >= 0 && end && number_of(&modules->tree, end) == last + 1 &&
               is_alike(modules, at, end)) {
            last++;
            end = node[end].next;
        }
        for (uint32_t merged = node[at].next; merged != end; merged = node[merged].next)
            take_in(modules, at, merged);
        modules->facts[at].last = last > number ? (uint32_t)last : 0;
        node[at].next = end;
    }
}

int mt_modules_collect(struct mt_module_tree *modules, const struct mt_definitions *definitions,
                       const struct mt_verdict *verdicts, size_t n)
{
    int rc = 0;
    *modules = (struct mt_module_tree){0};
    mt_tree_count(&modules->tree, MT_TREE_ROOT, 0, 0); /* there, also without blocks */
    for (size_t i = 0; i < n && !rc; i++) {
        uint32_t stack = mt_block_module(definitions, &verdicts[i]);
        if (stack)
            rc = add(modules, mt_frame(definitions, mt_stack(definitions, stack)->call),
                     &verdicts[i]);
        else
            modules->unknown += verdicts[i].block->size;
    }
    for (size_t i = modules->tree.n; i-- > 0 && !rc;) { /* parts come after their module */
        rc = sort_children(&modules->tree, (uint32_t)i);
        if (!rc)
            fold(modules, (uint32_t)i);
    }
    return rc;
}

void mt_modules_clear(struct mt_module_tree *modules)
{
    mt_tree_clear(&modules->tree);
    free(modules->facts);
    *modules = (struct mt_module_tree){0};
}
