/* SPDX-License-Identifier: Apache-2.0 */
#include "query.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/search.h"
#include "analyzer/support/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct mt_sum mt_query_row(const struct mt_query *query, const struct mt_verdict *verdict)
{
    struct mt_sum row = {.stack = mt_line_stack(query->naming->definitions, verdict->block),
                         .guess = mt_guess_of(verdict),
                         .copy = mt_copy_of(verdict),
                         .unused = verdict->unused,
                         .certainty = mt_certainty_of(verdict->rule)};
    for (unsigned i = 0; i < query->n_by; i++)
        row.key[i] = mt_property(query->naming, query->by[i], verdict);
    return row;
}

int mt_query_add(struct mt_sums *rows, const struct mt_query *query,
                 const struct mt_verdict *verdict)
{
    const struct mt_sum row = mt_query_row(query, verdict);
    return mt_sums_add(rows, verdict->block->size, &row);
}

int mt_query_rows(struct mt_sums *rows, const struct mt_query *query,
                  const struct mt_verdict *verdicts, size_t n)
{
    int rc = 0;
    *rows = (struct mt_sums){0};
    for (size_t i = 0; i < n && !rc; i++)
        rc = mt_query_add(rows, query, &verdicts[i]);
    mt_sums_sort(rows);
    return rc;
}

static void name_group(char out[MT_PROPERTY_TEXT], const struct mt_query *query,
                       const uint32_t number[2])
{
    if (query->by[0] == MT_BY_NAME && query->n_by == 2) {
        mt_named_place_text(out, MT_PROPERTY_TEXT, query->naming->definitions, number[0],
                            number[1]);
        return;
    }
    *out = '\0';
    for (unsigned i = 0; i < query->n_by; i++) {
        char room[MT_PROPERTY_TEXT];
        const char *text = mt_property_label(query->naming, query->by[i], number[i], room);
        mt_text_append(out, MT_PROPERTY_TEXT, "%s%s", i ? ", " : "",
                       text ? text : mt_property_unknown(query->by[i]));
    }
}

/* Return the index + 1 of the group with these numbers; different ones may share a name. 0: no
 * memory. */
static uint32_t group_of(struct mt_groups *groups, const struct mt_query *query,
                         const uint32_t number[2])
{
    char name[MT_PROPERTY_TEXT];
    uint64_t both = (uint64_t)number[0] << 32 | number[1];
    uint32_t index = mt_address_map_get(&groups->by_numbers, both);
    if (index)
        return index;
    name_group(name, query, number);
    if (mt_texts_add(&groups->names, name, &index) ||
        MT_GROW(groups->group, groups->capacity, index) ||
        mt_address_map_put(&groups->by_numbers, both, index + 1))
        return 0;
    groups->n = groups->names.n;
    groups->group[index].name = groups->names.text[index];
    if (query->by[0] == MT_BY_STACK)
        groups->group[index].stack = number[0] >> 1;
    return index + 1;
}

uint32_t mt_groups_add(struct mt_groups *groups, const struct mt_query *query,
                       const struct mt_verdict *verdict, uint64_t bytes)
{
    uint32_t number[2] = {0};
    for (unsigned i = 0; i < query->n_by && i < 2; i++)
        number[i] = mt_property(query->naming, query->by[i], verdict);
    uint32_t index = group_of(groups, query, number);
    if (index) {
        groups->group[index - 1].bytes += bytes;
        groups->group[index - 1].blocks++;
    }
    return index;
}

MT_ORDER(by_bytes, struct mt_group, MT_FALLING(bytes) ?: MT_BY_TEXT(name))

int mt_groups_collect(struct mt_groups *groups, const struct mt_query *query,
                      const struct mt_verdict *verdicts, size_t n)
{
    *groups = (struct mt_groups){0};
    for (size_t i = 0; i < n; i++)
        if (!mt_groups_add(groups, query, &verdicts[i], verdicts[i].block->size))
            return -ENOMEM;
    if (groups->n)
        qsort(groups->group, groups->n, sizeof *groups->group, by_bytes);
    return 0;
}

void mt_groups_clear(struct mt_groups *groups)
{
    free(groups->group);
    mt_texts_clear(&groups->names);
    mt_address_map_clear(&groups->by_numbers);
    *groups = (struct mt_groups){0};
}
