/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of several tables have: the rank, a line of code. */
#include "analyzer/trace/definitions.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

static void take_rank(struct mt_rows *rows, const char *text, size_t size)
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

void mt_rows_note_rank(struct mt_rows *rows, const struct mt_definition *definition)
{
    const char *value;
    size_t size;
    if (mt_names_rank(definition, &value, &size))
        take_rank(rows, value, size);
}

void mt_rows_take_rank(struct mt_rows *rows, const struct mt_definitions *definitions)
{
    const char *text = mt_rank_text(definitions);
    if (text)
        take_rank(rows, text, strlen(text));
}

void mt_rows_put_frame(struct mt_columns *columns, unsigned first,
                       const struct mt_definitions *definitions, uint32_t frame)
{
    if (!frame)
        return;
    if (!mt_columns_again(columns, first, frame))
        mt_columns_name(columns, first, frame, mt_named_frame(definitions, frame)->function);
    if (!mt_columns_again(columns, first + 1, frame))
        mt_columns_name(columns, first + 1, frame, mt_named_frame(definitions, frame)->file);
    mt_columns_put_some(columns, first + 2, mt_frame(definitions, frame)->line);
}
