/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's blocks grouped by a common property (report --by).
 */
#ifndef MT_GROUPS_H
#define MT_GROUPS_H

#include "properties.h"
#include "texts.h"

const char *mt_group_by_name(enum mt_property by);

struct mt_group {
    const char *name; /* the groups' */
    uint64_t bytes, blocks;
    uint32_t stack; /* by stack: the stack of the name's number; 0: unknown */
};

struct mt_groups {
    struct mt_group *group; /* the largest first */
    size_t n;
    struct mt_texts names;
};

/* Group the blocks. Return 0 or -ENOMEM. Call mt_groups_clear in any case. */
int mt_groups_collect(struct mt_groups *groups, const struct mt_naming *naming, enum mt_property by,
                      const struct mt_verdict *verdicts, size_t n);
void mt_groups_clear(struct mt_groups *groups);

#endif
