/* SPDX-License-Identifier: Apache-2.0 */
#include "groups.h"
#include "analyzer/classify/modules.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/demangle.h"
#include "trace-format/dtypes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void group_namer(char *out, size_t size, const struct mt_rule_context *context,
                         const struct mt_verdict *verdict);

/* Types come from labels: blocks without a parameter, a gradient or a tensor of a graph have
 * none. */
static void name_dtype(char *out, size_t size, const struct mt_rule_context *context,
                       const struct mt_verdict *verdict)
{
    (void)context;
    snprintf(out, size, "%s, %s", mt_categories[verdict->rule->category].label,
             verdict->block->dtype ? mt_dtype_name(verdict->block->dtype) : "unknown");
}

static void name_file(char *out, size_t size, const struct mt_rule_context *context,
                      const struct mt_verdict *verdict)
{
    snprintf(out, size, "%s", mt_line_frame(context->definitions, verdict->block)->file);
}

static void name_function(char *out, size_t size, const struct mt_rule_context *context,
                          const struct mt_verdict *verdict)
{
    snprintf(out, size, "%s", mt_line_frame(context->definitions, verdict->block)->function);
}

static void name_module(char *out, size_t size, const struct mt_rule_context *context,
                        const struct mt_verdict *verdict)
{
    const struct mt_definitions *d = context->definitions;
    const char *module = mt_stack_module(d, mt_block_module(d, verdict));
    snprintf(out, size, "%s", *module ? module : "module unknown");
}

static void name_name(char *out, size_t size, const struct mt_rule_context *context,
                      const struct mt_verdict *verdict)
{
    const char *name = mt_string(context->definitions, verdict->block->name);
    snprintf(out, size, "%s", verdict->block->name ? name : "no name");
}

static void name_range(char *out, size_t size, const struct mt_rule_context *context,
                       const struct mt_verdict *verdict)
{
    mt_range_text(out, size, context->definitions, context->ranges, verdict->block->range);
}

static void name_operator(char *out, size_t size, const struct mt_rule_context *context,
                          const struct mt_verdict *verdict)
{
    if (verdict->block->node_name)
        mt_short_type_name(mt_string(context->definitions, verdict->block->node_name), out, size);
    else
        snprintf(out, size, "no backward operator");
}

static void name_rule(char *out, size_t size, const struct mt_rule_context *context,
                      const struct mt_verdict *verdict)
{
    (void)context;
    snprintf(out, size, "%s", verdict->rule->name);
}

/* Blocks that autograd's own threads make have their forward call's stack. */
static uint32_t stack_of(const struct mt_rule_context *context, const struct mt_block *block)
{
    return mt_stack(context->definitions, block->stack)->depth ? block->stack
                                                               : block->forward_stack;
}

static void name_stack(char *out, size_t size, const struct mt_rule_context *context,
                       const struct mt_verdict *verdict)
{
    uint32_t stack = stack_of(context, verdict->block);
    if (stack)
        snprintf(out, size, "%u%s", stack,
                 stack == verdict->block->stack ? "" : ", in its backward");
    else
        snprintf(out, size, "stack unknown");
}

static const struct {
    const char *name;
    group_namer *name_of;
} groupings[] = {[MT_BY_SITE] = {"site", NULL},
#define ROW(id, name, function) [MT_BY_##id] = {name, function},
                 MT_GROUPINGS(ROW)
#undef ROW
};
#define N_GROUPINGS (sizeof groupings / sizeof *groupings)

int mt_group_by_parse(const char *text, enum mt_group_by *by)
{
    for (unsigned i = MT_BY_SITE + 1; i < N_GROUPINGS; i++)
        if (!strcmp(text, groupings[i].name)) {
            *by = (enum mt_group_by)i;
            return 0;
        }
    return -EINVAL;
}

const char *mt_group_by_name(enum mt_group_by by)
{
    return groupings[by].name;
}

const char *mt_group_by_list(void)
{
    static char list[256];
    *list = '\0';
    for (unsigned i = MT_BY_SITE + 1; i < N_GROUPINGS; i++) {
        const char *before = i == MT_BY_SITE + 1 ? "" : i + 1 < N_GROUPINGS ? ", " : " or ";
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", before,
                 groupings[i].name);
    }
    return list;
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

int mt_groups_collect(struct mt_groups *groups, const struct mt_rule_context *context,
                      enum mt_group_by by, const struct mt_verdict *verdicts, size_t n)
{
    char name[4096];
    *groups = (struct mt_groups){.group = calloc(n + 1, sizeof *groups->group)};
    if (!groups->group)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        groupings[by].name_of(name, sizeof name, context, &verdicts[i]);
        struct mt_group group = {strdup(name), verdicts[i].block->size, 1,
                                 by == MT_BY_STACK ? stack_of(context, verdicts[i].block) : 0};
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
