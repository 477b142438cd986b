/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"
#include "analyzer/support/search.h"
#include "trace-format/meaning/marks.h"

#include <stdlib.h>

static bool make_root(struct mt_tree *tree)
{
    if (!tree->n && !MT_GROW(tree->node, tree->capacity, 0))
        tree->n = 1;
    tree->has_no_memory |= !tree->n;
    return tree->n;
}

uint32_t mt_tree_child(struct mt_tree *tree, uint32_t parent, uint32_t key, uint32_t value)
{
    uint64_t both = (uint64_t)parent << 32 | key;
    uint32_t known = mt_address_map_get(&tree->by_key, both);
    if (known)
        return known;
    if (!make_root(tree) || MT_GROW(tree->node, tree->capacity, tree->n) ||
        mt_address_map_put(&tree->by_key, both, (uint32_t)tree->n)) {
        tree->has_no_memory = true;
        return parent;
    }
    tree->node[tree->n] =
        (struct mt_tree_node){.key = key, .value = value, .next = tree->node[parent].first};
    tree->node[parent].first = (uint32_t)tree->n;
    return (uint32_t)tree->n++;
}

void mt_tree_count(struct mt_tree *tree, uint32_t node, uint64_t bytes, uint64_t blocks)
{
    if (!make_root(tree))
        return;
    tree->node[node].bytes += bytes;
    tree->node[node].blocks += blocks;
}

MT_ORDER_OF_POINTERS(by_bytes, struct mt_tree_node, MT_FALLING(bytes) ?: MT_RISING(key))

uint32_t *mt_tree_children(const struct mt_tree *tree, uint32_t parent, uint64_t least, size_t *n)
{
    size_t all = 0;
    *n = 0;
    for (uint32_t i = tree->n ? tree->node[parent].first : 0; i; i = tree->node[i].next)
        all++;
    const struct mt_tree_node **order = malloc((all + 1) * sizeof *order);
    uint32_t *children = malloc((all + 1) * sizeof *children);
    for (uint32_t i = all && order ? tree->node[parent].first : 0; i; i = tree->node[i].next)
        if (tree->node[i].bytes >= least)
            order[(*n)++] = &tree->node[i];
    if (*n)
        qsort(order, *n, sizeof(struct mt_tree_node *), by_bytes);
    for (size_t i = 0; i < *n && children; i++)
        children[i] = (uint32_t)(order[i] - tree->node);
    if (!order) {
        free(children);
        children = NULL;
    }
    free(order);
    return children;
}

void mt_tree_clear(struct mt_tree *tree)
{
    free(tree->node);
    mt_address_map_clear(&tree->by_key);
    *tree = (struct mt_tree){0};
}

size_t mt_path(const struct mt_definitions *definitions, uint32_t stack, enum mt_path_frames frames,
               uint32_t *out, size_t most)
{
    bool has_python = mt_stack(definitions, stack)->python != 0;
    bool is_own = frames == MT_PATH_OWN && mt_stack(definitions, stack)->user != 0;
    size_t n = 0;
    for (uint32_t at = stack; mt_stack(definitions, at)->depth && n < most;
         at = mt_stack(definitions, at)->parent) {
        const struct mt_frame *frame = mt_stack_frame(definitions, at);
        bool is_shown = true;
        if (is_own)
            is_shown = mt_stack(definitions, at)->user == at;
        else if (frames == MT_PATH_WITHOUT_LIBRARY)
            is_shown = frame->is_gap || !(frame->marks & MT_MARK_FRAMEWORK);
        else if (frames != MT_PATH_ALL)
            is_shown = !has_python || !frame->is_native;
        if (is_shown)
            out[n++] = at;
    }
    return n;
}
