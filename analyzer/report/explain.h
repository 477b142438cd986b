/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reasons for a verdict: the evidence on a block, and each rule's result.
 */
#ifndef MT_EXPLAIN_H
#define MT_EXPLAIN_H

#include "analyzer/findings/analysis.h"
#include "analyzer/support/text.h"

/* Explain the block that question.address points into: the one that was live at the moment, else
 * the last one there. 0, or -ENOENT: there was none. */
int mt_explain_address(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Count the blocks of a stack that were live at the moment, and explain the largest. 0, or -ENOENT:
 * none. */
int mt_explain_stack(const struct mt_analysis *analysis, uint32_t stack, FILE *out,
                     const struct mt_style *style);

#endif
