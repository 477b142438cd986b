/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups blocks by their properties, for every output. The caller chooses the blocks: most outputs
 * pass those of a moment that pass the filter (struct mt_question). An answer is rows by numbers,
 * groups by text, or a tree (tree.h). For a series over time, the caller counts a block by bytes
 * times moments, and keeps the index of its group.
 */
#ifndef MT_QUERY_H
#define MT_QUERY_H

#include "analyzer/model/sums.h"
#include "analyzer/support/address-map.h"
#include "properties.h"
#include "texts.h"

struct mt_query {
    const struct mt_naming *naming;
    enum mt_property by[MT_SUM_KEYS]; /* what the blocks of a row have in common */
    unsigned n_by;
};

/* Return the query for one property. Types come from labels, which only parameters, gradients and
 * tensors of graphs have, so the category precedes the type. */
static inline struct mt_query mt_query_by(const struct mt_naming *naming, enum mt_property by)
{
    return by == MT_BY_DTYPE ? (struct mt_query){naming, {MT_BY_CATEGORY, by}, 2}
                             : (struct mt_query){naming, {by}, 1};
}

/* Rows: sums with these properties as keys; a row's stack is its largest block's user's line. */

/* Return a block as a row of its own. */
struct mt_sum mt_query_row(const struct mt_query *query, const struct mt_verdict *verdict);

/* Add a block to rows; or all blocks to new rows, sorted (mt_sums_sort). 0 or -ENOMEM. Call
 * mt_sums_clear in any case. */
int mt_query_add(struct mt_sums *rows, const struct mt_query *query,
                 const struct mt_verdict *verdict);
int mt_query_rows(struct mt_sums *rows, const struct mt_query *query,
                  const struct mt_verdict *verdicts, size_t n);

/* Groups: the texts of at most two properties, in order; a name precedes its line in quotes. */

struct mt_group {
    const char *name; /* the groups' */
    uint64_t bytes, blocks;
    uint32_t stack; /* by stack: the stack of the name's number; 0: unknown */
};

struct mt_groups {
    struct mt_group *group;
    size_t n, capacity;
    struct mt_texts names;
    struct mt_address_map by_numbers; /* the properties -> a group's index + 1 */
};

/* Count a block in its group. Return the group's index + 1; 0: no memory. */
uint32_t mt_groups_add(struct mt_groups *groups, const struct mt_query *query,
                       const struct mt_verdict *verdict, uint64_t bytes);

/* Group all blocks, the largest group first. 0 or -ENOMEM. Call mt_groups_clear in any case. */
int mt_groups_collect(struct mt_groups *groups, const struct mt_query *query,
                      const struct mt_verdict *verdicts, size_t n);
void mt_groups_clear(struct mt_groups *groups);

#endif
