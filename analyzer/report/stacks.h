/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory by whole stacks: as a tree from callers to callees or the other way round, folded for
 * flame graphs, or as JSON.
 */
#ifndef MT_STACKS_H
#define MT_STACKS_H

#include "analyzer/findings/analysis.h"
#include "analyzer/support/text.h"

enum mt_direction { MT_TOP_DOWN, MT_BOTTOM_UP };

/* Print trees without framework frames and without branches of less than a hundredth of all bytes.
 * 0 or -ENOMEM. */
int mt_stacks_tree(const struct mt_analysis *analysis, enum mt_direction direction, FILE *out,
                   const struct mt_style *style);

/* "category;outermost frame;...;innermost frame BYTES", a line a stack. 0 or -ENOMEM. */
int mt_stacks_folded(const struct mt_analysis *analysis, FILE *out);

/* Schema memtap.stacks/1 (memtap-stacks(1)). 0, -ENOMEM, or -EIO. */
int mt_stacks_json(const struct mt_analysis *analysis, FILE *out);

#endif
