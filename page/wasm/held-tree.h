/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps memory alive at the moment that the report describes. */
#ifndef MT_PAGE_HELD_TREE_H
#define MT_PAGE_HELD_TREE_H

#include "lives.h"

#include <jansson.h>

/* Make {"bytes", "live", "blocks", "time_ns", "children": [{"name", "place", "bytes", "blocks",
 * "only", "found", "category", "certainty", "life", "children"}]}: the blocks of a device whose
 * holders are known, by their paths, as memtap holders prints them; only of a category, -1: all.
 * live: bytes of all blocks then; only: bytes to which no other listed path leads; found: that the
 * search found; category: of most bytes; life: the largest block. null: none are known, or there is
 * no memory. */
json_t *mt_held_tree_json(const struct mt_lives *lives, const struct mt_analysis *analysis,
                          unsigned slot, int category);

#endif
