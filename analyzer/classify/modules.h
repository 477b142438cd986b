/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which torch.nn module blocks belong to, and what each module has with all its parts, as a tree.
 */
#ifndef MT_MODULES_H
#define MT_MODULES_H

#include "analyzer/support/address-map.h"
#include "classify.h"

/* The stack whose module (mt_stack_module) a block belongs to: where it was allocated; for what
 * backward made, where its operator was called in forward; for a parameter that was made before its
 * module had a name, where it was first used; for a gradient, its parameter's. 0: not known. */
uint32_t mt_block_module(const struct mt_definitions *definitions,
                         const struct mt_verdict *verdict);

/* PyTorch cuts larger blocks to size only where more than that would be left: equal tensors have
 * blocks that differ by up to as much. */
#define MT_LARGE_OVER (UINT64_C(1) << 20)

/* A module with its parts. Layers that are alike, of consecutive numbers, are one node: "0-23". */
struct mt_module_node {
    char *name; /* "layers", the class's name of an outermost module */
    uint64_t bytes, blocks;
    uint64_t large_bytes, large_blocks; /* of them, of blocks over MT_LARGE_OVER */
    uint64_t category[MT_CATEGORY_ROOM]; /* bytes */
    uint32_t parent, first_child, next;   /* indices, 0: none */
    uint32_t last;                        /* of several layers: the last one's number */
};

struct mt_module_tree {
    struct mt_module_node *node; /* node 0 stands for all: its children are the outermost modules */
    size_t n, capacity;
    struct mt_address_map by_name; /* hash of the parent and the name -> node */
    uint64_t unknown; /* bytes of blocks whose module is not known */
};

/* Children stand in the order of their bytes, layers in that of their numbers. 0 or -ENOMEM. To be
 * cleared in any case. */
int mt_modules_collect(struct mt_module_tree *tree, const struct mt_definitions *definitions,
                       const struct mt_verdict *verdicts, size_t n);
void mt_modules_clear(struct mt_module_tree *tree);

#endif
