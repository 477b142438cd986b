/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of each torch.nn module with all its parts, as a tree. Equal layers of consecutive
 * numbers are one node: "0-23".
 */
#ifndef MT_MODULE_TREE_H
#define MT_MODULE_TREE_H

#include "tree.h"

/* PyTorch splits larger blocks only if more than this would remain: blocks of equal tensors differ
 * by up to this. */
#define MT_LARGE_OVER (UINT64_C(1) << 20)

/* What a module with its parts has beside its bytes. */
struct mt_module_facts {
    uint64_t large_bytes, large_blocks;  /* only of blocks over MT_LARGE_OVER */
    uint64_t category[MT_CATEGORY_ROOM]; /* bytes */
    uint8_t certainty[MT_CATEGORY_ROOM]; /* enum mt_certainty: of the least certain block */
    uint32_t last;                       /* the last layer's number, if several */
};

struct mt_module_tree {
    struct mt_tree tree;           /* the root's children are the outermost modules, by class */
    struct mt_module_facts *facts; /* by node */
    size_t facts_capacity;
    uint64_t unknown; /* bytes of blocks with an unknown module */
};

/* Collect the modules: children are in order of bytes, layers in order of number. Return 0 or
 * -ENOMEM. Call mt_modules_clear in any case. */
int mt_modules_collect(struct mt_module_tree *modules, const struct mt_definitions *definitions,
                       const struct mt_verdict *verdicts, size_t n);
void mt_modules_clear(struct mt_module_tree *modules);

#endif
