/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"
#include "analyzer/support/search.h"
#include "trace-format/meaning/marks.h"

#include <stdlib.h>
#include <string.h>

/* A child's key in the map has all of these bits. */
#define PARENT_BITS 28u
#define PROPERTY_BITS 5u
#define KEY_BITS 31u
#define MOST_NODES (1u << PARENT_BITS)
#define MOST_PARTS 64u /* of a text; the last one has the rest */

_Static_assert(PARENT_BITS + PROPERTY_BITS + KEY_BITS == 64 && MT_BY_LAST < 1 << PROPERTY_BITS,
               "no two children have one key");

static bool make_root(struct mt_tree *tree)
{
    if (!tree->n && !MT_GROW(tree->node, tree->capacity, 0))
        tree->n = 1;
    tree->has_no_memory |= !tree->n;
    return tree->n;
}

/* Return a parent's child; a new one gets the value. */
static uint32_t child(struct mt_tree *tree, uint32_t parent, enum mt_property by, uint32_t key,
                      uint32_t value)
{
    uint64_t all = (((uint64_t)parent << PROPERTY_BITS) | by) << KEY_BITS | key;
    uint32_t known = mt_address_map_get(&tree->by_key, all);
    if (known)
        return known;
    if (!make_root(tree) || tree->n == MOST_NODES || key >> KEY_BITS ||
        MT_GROW(tree->node, tree->capacity, tree->n) ||
        mt_address_map_put(&tree->by_key, all, (uint32_t)tree->n)) {
        tree->has_no_memory = true;
        return parent;
    }
    struct mt_tree_node *above = &tree->node[parent];
    tree->node[tree->n] = (struct mt_tree_node){
        .by = by, .key = key, .value = value, .parent = parent, .next = above->first};
    above->first = (uint32_t)tree->n;
    return (uint32_t)tree->n++;
}

uint32_t mt_tree_text(struct mt_tree *tree, uint32_t at, enum mt_property by, const char *text)
{
    uint32_t index;
    if (!mt_texts_add(&tree->texts, text, &index))
        return child(tree, at, by, index, index);
    tree->has_no_memory = true;
    return at;
}

uint32_t mt_tree_parts(struct mt_tree *tree, uint32_t at, enum mt_property by, const char *text)
{
    char copy[MT_PROPERTY_TEXT];
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy, *part;
    for (unsigned n = 1; n < MOST_PARTS && (part = strsep(&rest, ".")); n++)
        at = mt_tree_text(tree, at, by, part);
    return rest ? mt_tree_text(tree, at, by, rest) : at;
}

/* Write the stacks whose innermost frames a level shows, innermost first. Return their number. */
static size_t path_of(uint32_t out[MT_LEVEL_MOST], const struct mt_definitions *definitions,
                      const struct mt_tree_level *level, uint32_t stack)
{
    enum mt_path_frames frames = level->frames;
    bool has_python = mt_stack(definitions, stack)->python != 0;
    bool is_own = frames == MT_PATH_OWN && mt_stack(definitions, stack)->user != 0;
    size_t n = 0;
    for (uint32_t at = stack; mt_stack(definitions, at)->depth && n < level->most;
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

uint32_t mt_tree_descend(struct mt_tree *tree, uint32_t at, const struct mt_tree_level *level,
                         const struct mt_naming *naming, uint32_t number)
{
    const struct mt_definitions *definitions = naming->definitions;
    if (level->by == MT_BY_BLAMED) {
        uint32_t path[MT_LEVEL_MOST];
        size_t n = path_of(path, definitions, level, number);
        for (size_t i = 0; i < n; i++) {
            uint32_t stack = path[level->as == MT_LEVEL_CALLERS ? n - 1 - i : i];
            at = child(tree, at, MT_BY_BLAMED, mt_stack_place(definitions, stack), stack);
        }
        return n || level->is_optional
                   ? at
                   : mt_tree_text(tree, at, MT_BY_STACK, mt_property_unknown(MT_BY_STACK));
    }
    char room[MT_PROPERTY_TEXT];
    const char *text = mt_property_label(naming, level->by, number, room);
    if (!text && level->is_optional)
        return at;
    if (text && level->as == MT_LEVEL_PARTS)
        return mt_tree_parts(tree, at, level->by, text);
    return mt_tree_text(tree, at, level->by, text ? text : mt_property_unknown(level->by));
}

void mt_tree_count(struct mt_tree *tree, uint32_t node, uint64_t bytes, uint64_t blocks)
{
    if (!make_root(tree))
        return;
    for (;; node = tree->node[node].parent) {
        tree->node[node].bytes += bytes;
        tree->node[node].blocks += blocks;
        if (node == MT_TREE_ROOT)
            return;
    }
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
    mt_texts_clear(&tree->texts);
    *tree = (struct mt_tree){0};
}
