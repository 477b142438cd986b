/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps memory alive, for people and for programs: memtap holders.
 */
#ifndef MT_HELD_REPORT_H
#define MT_HELD_REPORT_H

#include <stdio.h>

#include "analyzer/findings/analysis.h"
#include "analyzer/support/text.h"

/* Which blocks: zeros are all. */
struct mt_held_choice {
    uint64_t address; /* of one block; 0: not by address */
    const char *file; /* the end of a path; NULL: not by line */
    size_t file_size;
    uint32_t line;
};

/* A device's chosen blocks, and the tree of those with holders. */
struct mt_held_rows {
    struct mt_verdict *verdict;
    size_t n;
    uint64_t bytes;
    struct mt_holder_tree tree;
};

/* Choose blocks. 0 or -ENOMEM. Call mt_held_rows_clear in any case. */
int mt_held_chosen(struct mt_held_rows *rows, const struct mt_device *device,
                   const struct mt_held_choice *choice);
void mt_held_rows_clear(struct mt_held_rows *rows);

/* Return the bytes whose paths begin at a root of that sort. */
uint64_t mt_held_garbage(const struct mt_holder_tree *tree, uint32_t root);

/* Print the lists of holders, and the chosen blocks as a tree by what holds them; all paths of one
 * chosen by its address. 0, -ENOENT: no block was chosen, or -ENOMEM. */
int mt_holders_text(const struct mt_analysis *analysis, const struct mt_held_choice *choice,
                    FILE *out, const struct mt_style *style);

/* Print schema memtap.holders/1 (memtap-holders(1)). 0, -ENOMEM, or -EIO. */
int mt_holders_json(const struct mt_analysis *analysis, const struct mt_held_choice *choice,
                    FILE *out);

#endif
