/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reasoning behind a verdict: what was seen of a block, and what each rule says of it.
 */
#ifndef MT_EXPLAIN_H
#define MT_EXPLAIN_H

#include "analyzer/findings/analysis.h"
#include "analyzer/support/text.h"

/* The block that question.address points into: the one that was live at the moment, else the last
 * one that was there. 0, or -ENOENT where there never was one. */
int mt_explain_address(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* All blocks of a stack that were live at the moment, and the reasoning about the largest. 0, or
 * -ENOENT where there is none. */
int mt_explain_stack(const struct mt_analysis *analysis, uint32_t stack, FILE *out,
                     const struct mt_style *style);

#endif
