/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

size_t mt_column_width(enum mt_column_type type)
{
    return type == MT_COLUMN_INT16 ? 2 : type == MT_COLUMN_INT64 ? 8 : 4;
}

void mt_columns_begin(struct mt_columns *columns, const struct mt_table *table)
{
    mt_columns_clear(columns);
    columns->table = table;
}

void mt_columns_clear(struct mt_columns *columns)
{
    for (size_t i = 0; columns->table && i < columns->table->n_columns; i++) {
        free(columns->part[i].values);
        free(columns->part[i].valid);
        free(columns->part[i].memo);
        mt_texts_clear(&columns->part[i].texts);
    }
    memset(columns, 0, sizeof *columns);
}

void mt_columns_forget(struct mt_columns *columns)
{
    for (size_t i = 0; i < columns->table->n_columns; i++) {
        free(columns->part[i].memo);
        columns->part[i].memo = NULL;
    }
}

/* Widen by more bytes, the new ones zeros. */
static bool widen(void *array, size_t old, size_t size)
{
    void **place = array;
    char *bytes = old ? realloc(*place, size) : calloc(size, 1);
    if (!bytes)
        return false;
    if (old)
        memset(bytes + old, 0, size - old);
    *place = bytes;
    return true;
}

bool mt_columns_grow(struct mt_columns *columns)
{
    size_t old = columns->capacity, more = old ? 2 * old : MT_COLUMNS_ROWS;
    for (size_t i = 0; i < columns->table->n_columns && !columns->lacks_memory; i++) {
        const struct mt_table_column *column = &columns->table->column[i];
        struct mt_column_part *part = &columns->part[i];
        size_t width = mt_column_width(column->type);
        columns->lacks_memory = !widen(&part->values, old * width, more * width) ||
                                (column->has_nulls && !widen(&part->valid, old / 8, more / 8));
    }
    if (columns->lacks_memory)
        return false;
    columns->capacity = more;
    return true;
}

/* Return the text's place; -1: null. */
static int32_t put_text(struct mt_columns *columns, unsigned column, const char *text)
{
    uint32_t place;
    bool is_none = !text || !*text || (text[0] == '?' && !text[1]);
    if (is_none && columns->table->column[column].has_nulls)
        return -1;
    if (mt_texts_add(&columns->part[column].texts, text ? text : "", &place)) {
        columns->lacks_memory = true;
        return -1;
    }
    mt_columns_put(columns, column, place);
    return (int32_t)place;
}

void mt_columns_text(struct mt_columns *columns, unsigned column, const char *text)
{
    put_text(columns, column, text);
}

void mt_columns_name(struct mt_columns *columns, unsigned column, uint32_t number, const char *text)
{
    struct mt_column_part *part = &columns->part[column];
    if (!part->memo && !(part->memo = calloc(MT_MEMOS, sizeof *part->memo))) {
        columns->lacks_memory = true;
        return;
    }
    int32_t place = put_text(columns, column, text);
    part->memo[number % MT_MEMOS] = (struct mt_text_memo){number + 1, place};
}
