/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every live block of an analysis, by address: as a table, or as JSON.
 */
#ifndef MT_BLOCKS_H
#define MT_BLOCKS_H

#include "analyzer/findings/analysis.h"
#include "analyzer/support/text.h"

void mt_blocks_table(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style);

/* Schema memtap.blocks/1 (memtap-blocks(1)). 0, -ENOMEM, or -EIO. */
int mt_blocks_json(const struct mt_analysis *analysis, FILE *out);

#endif
