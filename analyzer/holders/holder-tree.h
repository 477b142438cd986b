/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks by the steps that the paths of their holders have in common, as a tree: each step has what
 * is reached through it. Elements of one container are one step where only their index differs:
 * [0..19]. A block is where its first path, the shortest, leads.
 */
#ifndef MT_HOLDER_TREE_H
#define MT_HOLDER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/trace/definitions.h"
#include "holders.h"

#define MT_HOLDER_DEPTH 64u /* steps of a path; the rest of a longer one is left out */

/* A block that is held. */
struct mt_holding {
    const struct mt_block_held *held; /* with at least one path */
    uint64_t bytes;
    size_t block; /* the caller's number of it */
};

struct mt_holder_step {
    const char *text; /* its shape, "[#]" for an index; not terminated; the tree's */
    uint32_t length;
    uint32_t depth;             /* 0: a root */
    uint32_t root;              /* the root's enum mt_holder_root */
    size_t end;                 /* the first step behind what is below this one */
    size_t largest;             /* the number of the largest block */
    size_t first;               /* its blocks begin there in the tree's */
    uint64_t bytes, blocks;     /* reached through it */
    uint64_t own;               /* bytes of those whose paths end here */
    uint64_t only;              /* bytes of those to which no listed path leads without it */
    uint64_t n_views, views;    /* blocks that a view of a part holds, and the views' bytes */
    uint64_t low, high, places; /* of an index: the least, the greatest, how many there are */
};

struct mt_holder_tree {
    struct mt_holder_step *step; /* a step before those below it; of equals, the largest first */
    size_t n, capacity;
    uint64_t bytes, blocks;
    size_t *block; /* the blocks' numbers, those of a step together */
    char **text;   /* owns the steps' texts */
    size_t n_texts, texts_capacity;
};

/* Build the tree of blocks. 0 or -ENOMEM. Call mt_holder_tree_clear in any case. */
int mt_holder_tree_build(struct mt_holder_tree *tree, const struct mt_definitions *definitions,
                         const struct mt_holding *holdings, size_t n);
void mt_holder_tree_clear(struct mt_holder_tree *tree);

/* Return the last step of the run that begins at one: each but the last leads to the next alone. */
size_t mt_holder_run_end(const struct mt_holder_tree *tree, size_t at);

#endif
