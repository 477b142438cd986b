/* SPDX-License-Identifier: Apache-2.0 */
/* What keeps memory alive: when memory ran out, if the program listed it then, else at the peak. */
#ifndef MT_PAGE_HELD_TREE_H
#define MT_PAGE_HELD_TREE_H

#include "lives.h"

#include <jansson.h>
#include <stdbool.h>

/* The analysis of the moment when memory ran out; of zeros. */
struct mt_held_at_oom {
    struct mt_analysis analysis;
    char *path; /* the trace's, malloc'ed */
    bool is_made, is_there;
};

/* Return whether holders of a slot's blocks may be known. */
bool mt_may_be_held(const struct mt_analysis *peak, unsigned slot);

/* Return the analysis of the moment whose holders are shown. It is made at the first call, as it
 * reads the trace again. */
const struct mt_analysis *mt_held_analysis(struct mt_held_at_oom *at_oom,
                                           const struct mt_analysis *peak);
void mt_held_at_oom_clear(struct mt_held_at_oom *at_oom);

/* Make {"bytes", "live", "blocks", "time_ns", "children": [{"name", "place", "bytes", "blocks",
 * "only", "found", "category", "certainty", "life", "children"}]}: the blocks of a device whose
 * holders are known, by their paths, as memtap holders prints them; only of a category, -1: all.
 * live: bytes of all blocks then; only: bytes to which no other listed path leads; found: that the
 * search found; category: of most bytes; life: the largest block. null: none are known, or there is
 * no memory. */
json_t *mt_held_tree_json(const struct mt_lives *lives, const struct mt_analysis *analysis,
                          unsigned slot, int category);

#endif
