/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a tree: by call stack, by module and its parents, or by any other path of numbers.
 */
#ifndef MT_TREE_H
#define MT_TREE_H

#include "analyzer/support/address-map.h"
#include "analyzer/trace/definitions.h"

#include <stdbool.h>

struct mt_tree_node {
    uint64_t bytes, blocks; /* also of what is below */
    uint32_t key;           /* distinguishes siblings */
    uint32_t value;         /* what the node stands for: the caller's */
    uint32_t first, next;   /* child, sibling; 0: none */
};

/* A zeroed tree has only the root. Without memory for a node, its blocks count for the parent. */
#define MT_TREE_ROOT 0u
struct mt_tree {
    struct mt_tree_node *node; /* the root first */
    size_t n, capacity;
    struct mt_address_map by_key; /* parent and key -> node */
    bool has_no_memory;
};

/* Return a parent's child with this key; a new one gets the value. */
uint32_t mt_tree_child(struct mt_tree *tree, uint32_t parent, uint32_t key, uint32_t value);

/* Count blocks at a node. The caller counts them at each node of their path, the root included. */
void mt_tree_count(struct mt_tree *tree, uint32_t node, uint64_t bytes, uint64_t blocks);

/* Return the children that have at least these bytes, the largest first, then by key; *n: how many
 * these are. The caller frees the list. NULL: no memory. */
uint32_t *mt_tree_children(const struct mt_tree *tree, uint32_t parent, uint64_t least, size_t *n);

void mt_tree_clear(struct mt_tree *tree);

/* The frames of a stack that a tree shows. */
enum mt_path_frames {
    MT_PATH_ALL,
    MT_PATH_PYTHON,          /* only Python's, if the stack has any */
    MT_PATH_OWN,             /* only the program's own, if it has any; else as PYTHON */
    MT_PATH_WITHOUT_LIBRARY, /* all but those of a framework */
};

/* Write the stacks whose innermost frames these are, innermost first, up to `most` of them. Return
 * their number. */
size_t mt_path(const struct mt_definitions *definitions, uint32_t stack, enum mt_path_frames frames,
               uint32_t *out, size_t most);

#endif
