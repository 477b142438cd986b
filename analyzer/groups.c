/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"
#include "demangle.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [MT_BY_SITE] = "site",   [MT_BY_FILE] = "file",         [MT_BY_FUNCTION] = "function",
    [MT_BY_STACK] = "stack", [MT_BY_OPERATOR] = "operator", [MT_BY_RULE] = "rule"};

int mt_group_by_parse(const char *text, enum mt_group_by *by)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(text, names[i])) {
            *by = (enum mt_group_by)i;
            return 0;
        }
    return -EINVAL;
}

const char *mt_group_by_name(enum mt_group_by by)
{
    return names[by];
}

static void name_of(char *out, size_t size, const struct mt_definitions *d, enum mt_group_by by,
                    const struct mt_verdict *verdict)
{
    const struct mt_block *block = verdict->block;
    uint32_t stack = block->forward_stack ? block->forward_stack : block->stack;
    uint32_t user = mt_stack(d, stack)->user;
    const struct mt_frame *frame = mt_stack_frame(d, user ? user : stack);
    char operator[256] = "no backward operator";
    if (by == MT_BY_OPERATOR && block->node_name)
        mt_short_type_name(mt_string(d, block->node_name), operator, sizeof operator);
    if (by == MT_BY_STACK)
        snprintf(out, size, "%u", block->stack);
    else
        snprintf(out, size, "%s",
                 by == MT_BY_FILE       ? frame->file
                 : by == MT_BY_FUNCTION ? frame->function
                 : by == MT_BY_OPERATOR ? operator
                                        : verdict->rule->name);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct mt_group *)left)->name, ((const struct mt_group *)right)->name);
}

static int by_bytes(const void *left, const void *right)
{
    const struct mt_group *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return by_name(a, b);
}

static void merge(struct mt_groups *groups)
{
    size_t kept = 0;
    qsort(groups->group, groups->n, sizeof *groups->group, by_name);
    for (size_t i = 0; i < groups->n; i++) {
        struct mt_group *group = &groups->group[i];
        if (!kept || by_name(&groups->group[kept - 1], group)) {
            groups->group[kept++] = *group;
            continue;
        }
        groups->group[kept - 1].bytes += group->bytes;
        groups->group[kept - 1].blocks++;
        free(group->name);
    }
    groups->n = kept;
    qsort(groups->group, groups->n, sizeof *groups->group, by_bytes);
}

int mt_groups_collect(struct mt_groups *groups, const struct mt_definitions *definitions,
                      enum mt_group_by by, const struct mt_verdict *verdicts, size_t n)
{
    char name[4096];
    *groups = (struct mt_groups){.group = calloc(n + 1, sizeof *groups->group)};
    if (!groups->group)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        name_of(name, sizeof name, definitions, by, &verdicts[i]);
        struct mt_group group = {strdup(name), verdicts[i].block->size, 1};
        if (!group.name)
            return -ENOMEM;
        groups->group[groups->n++] = group;
    }
    merge(groups);
    return 0;
}

void mt_groups_clear(struct mt_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        free(groups->group[i].name);
    free(groups->group);
    *groups = (struct mt_groups){0};
}
