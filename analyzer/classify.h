/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From evidence to a category: one table of named rules, the strongest first. What no rule knows is
 * `other`.
 */
#ifndef MT_CLASSIFY_H
#define MT_CLASSIFY_H

#include "categories.h"
#include "definitions.h"
#include "heap.h"

/* What rules may look at besides the block. */
struct mt_rule_context {
    const struct mt_definitions *definitions;
    int saw_parameters; /* the trace tells which tensors are parameters */
};

struct mt_rule {
    const char *name; /* says why, in a few words: "kept as a leaf's gradient" */
    enum mt_category category;
    int (*holds)(const struct mt_rule_context *context, const struct mt_block *block);
};

extern const struct mt_rule mt_rules[];
extern const size_t mt_n_rules; /* the last one holds for every block */

/* The first rule that holds; never NULL. */
const struct mt_rule *mt_classify(const struct mt_rule_context *context,
                                  const struct mt_block *block);

#endif
