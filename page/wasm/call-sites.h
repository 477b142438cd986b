/* SPDX-License-Identifier: Apache-2.0 */
/* The call sites of blocks, as tables. */
#ifndef MT_PAGE_CALL_SITES_H
#define MT_PAGE_CALL_SITES_H

#include "areas.h"
#include "who.h"

/* Make [{"bytes", "blocks", "category", "line", "file", "number", "operator", "guess", "life",
 * "from", "held", "uses"}], the largest first: as the report's table of call sites; file and
 * number: of the line; held: what held most of its blocks at the reported moment, as reports print
 * it, "" unknown; uses: the last use of all of them, mt_life_uses_json, null if that is unknown of
 * one; both only where the trace has any. NULL: no memory. */
json_t *mt_who_table(const struct mt_lives *lives, const struct mt_analysis *analysis,
                     const struct mt_who_question *question);

/* Make a table as mt_who_table does, of blocks that were freed before the next allocation (memray
 * calls them temporary), between `since` and `at`; bytes: the sum of all. Blocks from PyTorch's
 * cache and blocks for which CUDA handed memory out have rows of their own: "from" (enum
 * mt_origin). */
json_t *mt_who_temporary(const struct mt_lives *lives, const struct mt_areas *areas,
                         const struct mt_replay *replay, const struct mt_who_question *question);

/* Find the blocks of a table's row by one of them, the largest first. Return their count, or
 * -ENOMEM; `numbers` (malloc'ed) has their lives' numbers. */
long mt_who_same(const struct mt_lives *lives, const struct mt_replay *replay,
                 const struct mt_who_question *question, const struct mt_life *life,
                 double **numbers);

#endif
