/* SPDX-License-Identifier: Apache-2.0 */
#include "modules.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"
#include "analyzer/support/search.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES (1u << 20)
#define MOST_LAYERS 1000000u
#define MOST_DEPTH 64u

static bool has_module(const struct mt_definitions *d, uint32_t stack)
{
    return mt_stack(d, stack)->call != 0;
}

/* Return a block's module. A gradient or a state belongs to its parameter's module, wherever it was
 * allocated. A parameter belongs to the module that moved it to the device, else to the first that
 * used it. */
uint32_t mt_block_module(const struct mt_definitions *d, const struct mt_verdict *verdict)
{
    const struct mt_block *block = verdict->block;
    bool is_of_leaf = verdict->rule->category == MT_CATEGORY_GRADIENTS ||
                      verdict->rule->category == MT_CATEGORY_OPTIMIZER_STATE;
    const uint32_t stacks[] = {
        is_of_leaf ? block->leaf_stack : 0, block->stack, block->forward_stack, block->leaf_stack,
        verdict->rule->category == MT_CATEGORY_PARAMETERS ? block->save_stack : 0};
    if (verdict->rule->category == MT_CATEGORY_WORKSPACE)
        return 0; /* shared by all modules */
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        if (has_module(d, stacks[i]))
            return stacks[i];
    return 0;
}

static bool is_named(const struct mt_module_node *node, const char *name, size_t size)
{
    return !strncmp(node->name, name, size) && !node->name[size];
}

static uint64_t key_of(uint32_t parent, const char *name, size_t size)
{
    return mt_hash(MT_HASH_SEED ^ parent, name, size);
}

/* Return the index of a module's part by name; 0: no memory. */
static uint32_t part_of(struct mt_module_tree *tree, uint32_t parent, const char *name, size_t size)
{
    uint64_t key = key_of(parent, name, size);
    uint32_t child = mt_address_map_get(&tree->by_name, key);
    if (child && (tree->node[child].parent != parent || !is_named(&tree->node[child], name, size)))
        for (child = tree->node[parent].first_child; /* a hash collision */
             child && !is_named(&tree->node[child], name, size);)
            child = tree->node[child].next;
    if (child || tree->n == MOST_NODES || MT_GROW(tree->node, tree->capacity, tree->n) ||
        mt_address_map_put(&tree->by_name, key, (uint32_t)tree->n))
        return child;
    struct mt_module_node node = {
        .name = strndup(name, size), .parent = parent, .next = tree->node[parent].first_child};
    if (!node.name)
        return 0;
    tree->node[tree->n] = node;
    tree->node[parent].first_child = (uint32_t)tree->n;
    return (uint32_t)tree->n++;
}

static void note_certainty(struct mt_module_node *node, unsigned category, unsigned certainty)
{
    if (certainty > node->certainty[category])
        node->certainty[category] = (uint8_t)certainty;
}

static int add(struct mt_module_tree *tree, const struct mt_frame *call,
               const struct mt_verdict *verdict)
{
    uint32_t at = part_of(tree, 0, call->root, strlen(call->root));
    unsigned depth = 0;
    for (const char *name = call->path; at && *name;) {
        size_t size = ++depth < MOST_DEPTH ? strcspn(name, ".") : strlen(name);
        at = part_of(tree, at, name, size);
        name += size + (name[size] == '.');
    }
    if (!at)
        return -ENOMEM;
    for (;; at = tree->node[at].parent) {
        struct mt_module_node *node = &tree->node[at];
        node->bytes += verdict->block->size;
        node->blocks++;
        if (verdict->block->size > MT_LARGE_OVER) {
            node->large_bytes += verdict->block->size;
            node->large_blocks++;
        }
        node->category[verdict->rule->category] += verdict->block->size;
        note_certainty(node, verdict->rule->category, mt_certainty_of(verdict->rule));
        if (!at)
            return 0;
    }
}

/* Return a layer's number; -1: not a layer. */
static long number_of(const struct mt_module_node *node)
{
    char *end;
    unsigned long number = isdigit((unsigned char)*node->name) ? strtoul(node->name, &end, 10) : 0;
    return isdigit((unsigned char)*node->name) && !*end && number < MOST_LAYERS ? (long)number : -1;
}

/* Compare layers by number, after all other parts, which are by bytes. */
static int by_rank(const void *left, const void *right, void *nodes)
{
    const struct mt_module_node *a = (struct mt_module_node *)nodes + *(const uint32_t *)left;
    const struct mt_module_node *b = (struct mt_module_node *)nodes + *(const uint32_t *)right;
    return MT_COMPARE(number_of(a), number_of(b)) ?: MT_FALLING(bytes) ?: MT_BY_TEXT(name);
}

static int sort_children(struct mt_module_tree *tree, uint32_t parent)
{
    size_t n = 0;
    for (uint32_t at = tree->node[parent].first_child; at; at = tree->node[at].next)
        n++;
    uint32_t *child = calloc(n + 1, sizeof *child);
    if (!child)
        return -ENOMEM;
    n = 0;
    for (uint32_t at = tree->node[parent].first_child; at; at = tree->node[at].next)
        child[n++] = at;
    qsort_r(child, n, sizeof *child, by_rank, tree->node);
    uint32_t *link = &tree->node[parent].first_child;
    for (size_t i = 0; i < n; i++, link = &tree->node[*link].next)
        *link = child[i];
    *link = 0;
    free(child);
    return 0;
}

/* Return whether the blocks of two modules may hold equal tensors. */
static bool has_alike_blocks(const struct mt_module_node *left, const struct mt_module_node *right)
{
    uint64_t more = left->large_bytes > right->large_bytes ? left->large_bytes - right->large_bytes
                                                           : right->large_bytes - left->large_bytes;
    return left->blocks == right->blocks && left->large_blocks == right->large_blocks &&
           left->bytes - left->large_bytes == right->bytes - right->large_bytes &&
           more <= left->large_blocks * MT_LARGE_OVER;
}

/* Return whether two modules have the same parts with the same blocks; their children are in
 * order. */
static bool is_alike(const struct mt_module_tree *tree, uint32_t a, uint32_t b)
{
    const struct mt_module_node *left = &tree->node[a], *right = &tree->node[b];
    if (!has_alike_blocks(left, right))
        return false;
    a = left->first_child;
    b = right->first_child;
    for (; a && b; a = tree->node[a].next, b = tree->node[b].next)
        if (strcmp(tree->node[a].name, tree->node[b].name) ||
            tree->node[a].last != tree->node[b].last || !is_alike(tree, a, b))
            return false;
    return a == b;
}

static void take_in(struct mt_module_tree *tree, uint32_t to, uint32_t from)
{
    struct mt_module_node *into = &tree->node[to], *merged = &tree->node[from];
    into->bytes += merged->bytes;
    into->blocks += merged->blocks;
    into->large_bytes += merged->large_bytes;
    into->large_blocks += merged->large_blocks;
    for (unsigned i = 0; i < mt_n_categories; i++) {
        into->category[i] += merged->category[i];
        note_certainty(into, i, merged->certainty[i]);
    }
    to = into->first_child;
    from = merged->first_child;
    for (; to && from; to = tree->node[to].next, from = tree->node[from].next)
        take_in(tree, to, from);
}

/* Merge runs of equal layers. */
static void fold(struct mt_module_tree *tree, uint32_t parent)
{
    for (uint32_t at = tree->node[parent].first_child; at; at = tree->node[at].next) {
        struct mt_module_node *node = &tree->node[at];
        uint32_t end = node->next;
        long number = number_of(node), last = number;
        while (number >= 0 && end && number_of(&tree->node[end]) == last + 1 &&
               is_alike(tree, at, end)) {
            last++;
            end = tree->node[end].next;
        }
        for (uint32_t merged = node->next; merged != end; merged = tree->node[merged].next)
            take_in(tree, at, merged);
        node->last = last > number ? (uint32_t)last : 0;
        node->next = end;
    }
}

int mt_modules_collect(struct mt_module_tree *tree, const struct mt_definitions *definitions,
                       const struct mt_verdict *verdicts, size_t n)
{
    int rc = 0;
    *tree = (struct mt_module_tree){0};
    if (mt_grow(&tree->node, &tree->capacity, 1, sizeof *tree->node))
        return -ENOMEM;
    tree->node[tree->n++] = (struct mt_module_node){0};
    for (size_t i = 0; i < n && !rc; i++) {
        uint32_t stack = mt_block_module(definitions, &verdicts[i]);
        if (stack)
            rc = add(tree, mt_frame(definitions, mt_stack(definitions, stack)->call), &verdicts[i]);
        else
            tree->unknown += verdicts[i].block->size;
    }
    for (size_t i = tree->n; i-- > 0 && !rc;) { /* parts come after their module */
        rc = sort_children(tree, (uint32_t)i);
        if (!rc)
            fold(tree, (uint32_t)i);
    }
    return rc;
}

void mt_modules_clear(struct mt_module_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        free(tree->node[i].name);
    free(tree->node);
    mt_address_map_clear(&tree->by_name);
    *tree = (struct mt_module_tree){0};
}
