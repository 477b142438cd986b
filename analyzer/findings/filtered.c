/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "analyzer/classify/modules.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/glob.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return whether a module is part of another: "layers.3" has "layers.3.mlp" as a part. */
static bool is_of_module(const char *module, const char *pattern)
{
    char name[1024];
    snprintf(name, sizeof name, "%s", module);
    while (!mt_glob(pattern, name)) {
        char *dot = strrchr(name, '.');
        if (!dot)
            return false;
        *dot = '\0';
    }
    return *name != '\0';
}

static bool is_let_through(const struct mt_verdict *verdict, const struct mt_filter *filter,
                           const struct mt_definitions *definitions)
{
    if (!mt_filter_has(filter, verdict->rule->category))
        return false;
    return !filter->module ||
           is_of_module(mt_stack_module(definitions, mt_block_module(definitions, verdict)),
                        filter->module);
}

int mt_filtered_blocks(struct mt_device *device, const struct mt_filter *filter,
                       const struct mt_definitions *definitions)
{
    device->shown = device->verdicts;
    device->n_shown = device->n_verdicts;
    if (!filter->categories && !filter->module)
        return 0;
    device->own_shown = calloc(device->n_verdicts + 1, sizeof *device->own_shown);
    if (!device->own_shown)
        return -ENOMEM;
    device->n_shown = 0;
    for (size_t i = 0; i < device->n_verdicts; i++)
        if (is_let_through(&device->verdicts[i], filter, definitions))
            device->own_shown[device->n_shown++] = device->verdicts[i];
    device->shown = device->own_shown;
    return 0;
}

struct order {
    enum mt_sort by;
    const struct mt_definitions *definitions;
};

static int compare_places(const struct mt_definitions *definitions, uint32_t a, uint32_t b)
{
    char left[512], right[512];
    mt_place_text(left, sizeof left, definitions, a);
    mt_place_text(right, sizeof right, definitions, b);
    return strcmp(left, right);
}

static int compare_sites(const void *left, const void *right, void *data)
{
    const struct mt_site *a = left, *b = right;
    const struct order *order = data;
    int rc = order->by == MT_SORT_BLOCKS ? MT_COMPARE(b->blocks, a->blocks)
             : order->by == MT_SORT_NAME ? compare_places(order->definitions, a->stack, b->stack)
                                         : 0;
    return rc ?: MT_FALLING(bytes) ?: MT_COMPARE(a, b);
}

void mt_filtered_sites(struct mt_sites *sites, const struct mt_filter *filter,
                       const struct mt_definitions *definitions)
{
    struct order order = {filter->sort, definitions};
    while (sites->n && sites->site[sites->n - 1].bytes < filter->least) /* the largest come first */
        sites->n--;
    if (sites->n && (filter->sort == MT_SORT_BLOCKS || filter->sort == MT_SORT_NAME))
        qsort_r(sites->site, sites->n, sizeof *sites->site, compare_sites, &order);
}

static int compare_groups(const void *left, const void *right, void *data)
{
    const struct mt_group *a = left, *b = right;
    const struct order *order = data;
    int rc =
        order->by == MT_SORT_BLOCKS ? MT_COMPARE(b->blocks, a->blocks) : strcmp(a->name, b->name);
    return rc ?: MT_FALLING(bytes) ?: MT_COMPARE(a, b);
}

void mt_filtered_groups(struct mt_groups *groups, const struct mt_filter *filter)
{
    struct order order = {filter->sort, NULL};
    while (groups->n && groups->group[groups->n - 1].bytes < filter->least)
        groups->n--;
    if (groups->n && (filter->sort == MT_SORT_BLOCKS || filter->sort == MT_SORT_NAME))
        qsort_r(groups->group, groups->n, sizeof *groups->group, compare_groups, &order);
}

static int compare_blocks(const void *left, const void *right, void *data)
{
    const struct mt_block *a = ((const struct mt_verdict *)left)->block;
    const struct mt_block *b = ((const struct mt_verdict *)right)->block;
    const struct order *order = data;
    const struct mt_definitions *d = order->definitions;
    int rc = order->by == MT_SORT_BYTES ? MT_FALLING(size)
             : order->by == MT_SORT_AGE ? MT_COMPARE(mt_block_time(a), mt_block_time(b))
             : order->by == MT_SORT_NAME
                 ? compare_places(d, mt_line_stack(d, a), mt_line_stack(d, b))
                 : 0;
    return rc ?: MT_RISING(address);
}

struct mt_verdict *mt_filtered_rows(const struct mt_device *device, const struct mt_filter *filter,
                                    const struct mt_definitions *definitions, size_t *n)
{
    /* Show the largest, since the first rows by address would be arbitrary. */
    enum mt_sort by = filter->sort == MT_SORT_USUAL && filter->top ? MT_SORT_BYTES : filter->sort;
    struct order order = {by, definitions};
    struct mt_verdict *rows = calloc(device->n_shown + 1, sizeof *rows);
    *n = 0;
    for (size_t i = 0; rows && i < device->n_shown; i++)
        if (device->shown[i].block->size >= filter->least)
            rows[(*n)++] = device->shown[i];
    if (rows && by != MT_SORT_USUAL)
        qsort_r(rows, *n, sizeof *rows, compare_blocks, &order);
    *n = mt_filter_rows(filter, *n, *n);
    return rows;
}
