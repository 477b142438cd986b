/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a tree: by call stack, by module and its parts, or by any other properties, level by
 * level.
 */
#ifndef MT_TREE_H
#define MT_TREE_H

#include "analyzer/support/address-map.h"
#include "properties.h"
#include "texts.h"

#include <stdbool.h>

struct mt_tree_node {
    uint64_t bytes, blocks; /* also of what is below */
    uint32_t value;         /* a stack, whose innermost frame it is; else its text's index */
    enum mt_property by;    /* the property that it is of */
    uint32_t key;           /* distinguishes siblings of one property */
    uint32_t parent;
    uint32_t first, next; /* child, sibling; 0: none */
};

/* A zeroed tree is empty. Without memory for a node, the parent stands for it. */
#define MT_TREE_ROOT 0u
struct mt_tree {
    struct mt_tree_node *node; /* the root first */
    size_t n, capacity;
    struct mt_address_map by_key; /* hash of parent, property and key -> a node */
    struct mt_texts texts;
    bool has_no_memory;
};

/* The frames of a stack that a tree shows. */
enum mt_path_frames {
    MT_PATH_ALL,
    MT_PATH_PYTHON,          /* only Python's, if the stack has any */
    MT_PATH_OWN,             /* only the program's own, if it has any; else as PYTHON */
    MT_PATH_WITHOUT_LIBRARY, /* all but those of a framework */
};

/* A level: what a property adds to the path of a block. */
struct mt_tree_level {
    enum mt_property by;
    enum {
        MT_LEVEL_TEXT,      /* a node */
        MT_LEVEL_PARTS,     /* one for each part of its text: "layers.3.mlp" */
        MT_LEVEL_CALLERS,   /* one for each frame of a stack, the outermost first */
        MT_LEVEL_INNERMOST, /* the innermost first */
    } as;
    bool is_optional; /* without a text, no node; else one with the words for "unknown" */
    enum mt_path_frames frames;
    unsigned most; /* of a stack's frames, innermost ones; at most MT_LEVEL_MOST */
};
#define MT_LEVEL_MOST 1024u

/* Go down from a node by a level, for the number of its property (mt_property). Return the node
 * that is reached. */
uint32_t mt_tree_descend(struct mt_tree *tree, uint32_t at, const struct mt_tree_level *level,
                         const struct mt_naming *naming, uint32_t number);

/* Go down by a text, or by the parts of a dotted text. */
uint32_t mt_tree_text(struct mt_tree *tree, uint32_t at, enum mt_property by, const char *text);
uint32_t mt_tree_parts(struct mt_tree *tree, uint32_t at, enum mt_property by, const char *text);

/* Count blocks at a node and all above it. */
void mt_tree_count(struct mt_tree *tree, uint32_t node, uint64_t bytes, uint64_t blocks);

/* Return a node's text; NULL: it is a frame. */
static inline const char *mt_tree_name(const struct mt_tree *tree, uint32_t node)
{
    bool is_text = tree->node[node].by != MT_BY_BLAMED;
    return is_text ? tree->texts.text[tree->node[node].value] : NULL;
}

/* Return the children that have at least these bytes, the largest first, then by key; *n: how many
 * these are. The caller frees the list. NULL: no memory. */
uint32_t *mt_tree_children(const struct mt_tree *tree, uint32_t parent, uint64_t least, size_t *n);

void mt_tree_clear(struct mt_tree *tree);

#endif
