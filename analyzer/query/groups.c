/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *unknown;
} properties[] = {[MT_BY_SITE] = {"site", ""},
#define ROW(id, name, unknown) [MT_BY_##id] = {name, unknown},
                  MT_PROPERTIES(ROW)
#undef ROW
};

const char *mt_group_by_name(enum mt_property by)
{
    return properties[by].name;
}

MT_ORDER(by_bytes, struct mt_group, MT_FALLING(bytes) ?: MT_BY_TEXT(name))

/* Name a sum's group. Types come from labels, which only parameters, gradients and tensors of
 * graphs have, so the category precedes the type. */
static void name_group(char out[MT_PROPERTY_TEXT], const struct mt_naming *naming,
                       enum mt_property by, const struct mt_sum *sum)
{
    char room[MT_PROPERTY_TEXT];
    const char *text = mt_property_text(naming, by, sum->key[0], room);
    if (by == MT_BY_CATEGORY)
        text = mt_categories[sum->key[0]].label;
    snprintf(out, MT_PROPERTY_TEXT, "%s%s%s",
             by == MT_BY_DTYPE ? mt_categories[sum->key[1]].label : "",
             by == MT_BY_DTYPE ? ", " : "", text ? text : properties[by].unknown);
}

/* Add a group. Different numbers may share a name. */
static int add_group(struct mt_groups *groups, const char *name, const struct mt_sum *sum,
                     enum mt_property by)
{
    uint32_t index;
    if (mt_texts_add(&groups->names, name, &index))
        return -ENOMEM;
    struct mt_group *group = &groups->group[index];
    group->bytes += sum->bytes;
    group->blocks += sum->blocks;
    group->stack = by == MT_BY_STACK ? sum->key[0] >> 1 : 0;
    return 0;
}

int mt_groups_collect(struct mt_groups *groups, const struct mt_naming *naming, enum mt_property by,
                      const struct mt_verdict *verdicts, size_t n)
{
    const enum mt_property keys[] = {by, MT_BY_CATEGORY};
    char name[MT_PROPERTY_TEXT];
    struct mt_sums sums;
    *groups = (struct mt_groups){0};
    int rc = mt_sum_blocks(&sums, naming, keys, 1 + (by == MT_BY_DTYPE), verdicts, n);
    groups->group = calloc(sums.n + 1, sizeof *groups->group);
    if (!groups->group)
        rc = -ENOMEM;
    for (size_t i = 0; i < sums.n && !rc; i++) {
        name_group(name, naming, by, &sums.sum[i]);
        rc = add_group(groups, name, &sums.sum[i], by);
    }
    mt_sums_clear(&sums);
    groups->n = rc ? 0 : groups->names.n;
    for (size_t i = 0; i < groups->n; i++)
        groups->group[i].name = groups->names.text[i];
    if (groups->n)
        qsort(groups->group, groups->n, sizeof *groups->group, by_bytes);
    return rc;
}

void mt_groups_clear(struct mt_groups *groups)
{
    free(groups->group);
    mt_texts_clear(&groups->names);
    *groups = (struct mt_groups){0};
}
