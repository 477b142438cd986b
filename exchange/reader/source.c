/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"
#include "analyzer/trace/rank-text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void take_rank(struct mt_row_source *rows, const char *text, size_t size)
{
    char number[16], *end;
    if (!size || size >= sizeof number)
        return;
    memcpy(number, text, size);
    number[size] = 0;
    long rank = strtol(number, &end, 10);
    if (*end || rank < 0 || rank > INT32_MAX)
        return;
    rows->has_rank = true;
    rows->rank = (int32_t)rank;
}

void mt_row_source_see_rank(struct mt_row_source *rows, const struct mt_definition *definition)
{
    const char *value;
    size_t size;
    if (mt_tells_rank(definition, &value, &size))
        take_rank(rows, value, size);
}

void mt_row_source_take_rank(struct mt_row_source *rows, const struct mt_definitions *definitions)
{
    const char *text = mt_rank_text(definitions);
    if (text)
        take_rank(rows, text, strlen(text));
}

static mt_row_source_maker *const makers[MT_TABLES_N] = {
    [MT_TABLE_BLOCKS] = mt_row_source_blocks,   [MT_TABLE_EVENTS] = mt_row_source_events,
    [MT_TABLE_STACKS] = mt_row_source_stacks,   [MT_TABLE_CATEGORIES] = mt_row_source_categories,
    [MT_TABLE_PHASES] = mt_row_source_phases,   [MT_TABLE_RANKS] = mt_row_source_ranks,
    [MT_TABLE_SAMPLES] = mt_row_source_samples, [MT_TABLE_GROWTH] = mt_row_source_growth,
};

int mt_row_source_open(struct mt_row_source **out, const struct mt_row_source_question *question,
                       const char *path, struct mt_trace_error *error)
{
    memset(error, 0, sizeof *error);
    mt_row_source_maker *make = makers[question->table];
    if (question->table == MT_TABLE_BLOCKS && question->whole_run)
        make = mt_row_source_lives;
    int rc = make(out, path, error);
    if (rc)
        return rc;
    (*out)->question = question;
    (*out)->path = path;
    return 0;
}
