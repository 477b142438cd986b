/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The torch.nn module of a block, and the blocks of each module with all its parts, as a tree.
 */
#ifndef MT_MODULES_H
#define MT_MODULES_H

#include "analyzer/support/address-map.h"
#include "classify.h"

/* Return the stack whose module (mt_stack_module) a block belongs to: that of its allocation; for a
 * block from backward, its operator's forward call; for a parameter allocated before its module had
 * a name, its first use; for a gradient, its parameter's. 0: unknown. */
uint32_t mt_block_module(const struct mt_definitions *definitions,
                         const struct mt_verdict *verdict);

/* PyTorch splits larger blocks only if more than this would remain: blocks of equal tensors differ
 * by up to this. */
#define MT_LARGE_OVER (UINT64_C(1) << 20)

/* A module with its parts. Equal layers of consecutive numbers are one node: "0-23". */
struct mt_module_node {
    char *name; /* "layers", the class's name of an outermost module */
    uint64_t bytes, blocks;
    uint64_t large_bytes, large_blocks;  /* only of blocks over MT_LARGE_OVER */
    uint64_t category[MT_CATEGORY_ROOM]; /* bytes */
    uint8_t certainty[MT_CATEGORY_ROOM]; /* enum mt_certainty: of the least certain block */
    uint32_t parent, first_child, next;  /* indices, 0: none */
    uint32_t last;                       /* the last layer's number, if several */
};

struct mt_module_tree {
    struct mt_module_node *node; /* node 0 stands for all: its children are the outermost modules */
    size_t n, capacity;
    struct mt_address_map by_name; /* hash of the parent and the name -> node */
    uint64_t unknown;              /* bytes of blocks with an unknown module */
};

/* Collect the modules: children are in order of bytes, layers in order of number. Return 0 or
 * -ENOMEM. Call mt_modules_clear in any case. */
int mt_modules_collect(struct mt_module_tree *tree, const struct mt_definitions *definitions,
                       const struct mt_verdict *verdicts, size_t n);
void mt_modules_clear(struct mt_module_tree *tree);

#endif
