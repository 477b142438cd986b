/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline's groups: categories, or the largest modules, types, lines or operations and one
 * group for all others.
 */
#ifndef MT_PAGE_GROUPS_H
#define MT_PAGE_GROUPS_H

#include "analyzer/print/json.h"
#include "lives.h"

enum mt_group_kind {
    MT_STACK_CATEGORY,
    MT_STACK_MODULE,
    MT_STACK_DTYPE,
    MT_STACK_LINE,
    MT_STACK_OPERATOR,
    MT_STACK_KINDS
};

/* Set every life's group and update the totals. Return the groups' names: at most
 * MT_CATEGORY_COUNT, the most bytes times moments first, the last for all others. NULL: no
 * memory. */
json_t *mt_groups_set(struct mt_lives *lives, const struct mt_replay *replay,
                      enum mt_group_kind kind);

#endif
