/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's blocks grouped by a common property (report --by).
 */
#ifndef MT_GROUPS_H
#define MT_GROUPS_H

#include "analyzer/classify/classify.h"

/* Every grouping, once: G(enumerator, name, function in groups.c that names a block's group). */
/* clang-format off */
#define MT_GROUPINGS(G)                                                                            \
    G(DTYPE, "dtype", name_dtype)                                                                  \
    G(FILE, "file", name_file)                                                                     \
    G(FUNCTION, "function", name_function)                                                         \
    G(MODULE, "module", name_module)                                                               \
    G(NAME, "name", name_name)                                                                     \
    G(OPERATOR, "operator", name_operator)                                                         \
    G(RANGE, "range", name_range)                                                                  \
    G(RULE, "rule", name_rule)                                                                     \
    G(STACK, "stack", name_stack)
/* clang-format on */

enum mt_group_by {
    MT_BY_SITE, /* done by mt_sites */
#define MT_GROUP_ENUM(id, name, function) MT_BY_##id,
    MT_GROUPINGS(MT_GROUP_ENUM)
#undef MT_GROUP_ENUM
};

/* Read "file", "function" ...; 0, or -EINVAL for other text. */
int mt_group_by_parse(const char *text, enum mt_group_by *by);
const char *mt_group_by_name(enum mt_group_by by);

/* "dtype, file, function ... or stack". */
const char *mt_group_by_list(void);

struct mt_group {
    char *name;
    uint64_t bytes, blocks;
    uint32_t stack; /* by stack: the stack that the name numbers; 0: unknown */
};

struct mt_groups {
    struct mt_group *group; /* the largest first */
    size_t n;
};

/* Group the blocks. Files and functions are of the user's own line. Return 0 or -ENOMEM. Call
 * mt_groups_clear in any case. */
int mt_groups_collect(struct mt_groups *groups, const struct mt_rule_context *context,
                      enum mt_group_by by, const struct mt_verdict *verdicts, size_t n);
void mt_groups_clear(struct mt_groups *groups);

#endif
