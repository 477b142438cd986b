/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a table (tables.h) under construction, a column each, in Arrow's layout: they become an
 * Arrow array without being copied.
 */
#ifndef MT_COLUMNS_H
#define MT_COLUMNS_H

#include "arrow.h"
#include "exchange/tables/tables.h"
#include "vocabulary.h"

/* As many rows make a batch, unless more come at once; or as many bytes of texts in a column. */
#define MT_COLUMNS_ROWS 65536u
#define MT_COLUMNS_TEXT (64u << 20)

struct mt_columns {
    const struct mt_table *table;
    size_t n, capacity; /* rows */
    struct mt_column_part {
        void *values;   /* numbers of the column's type, or numbers of texts: 32 bits */
        uint8_t *valid; /* a bit a row; NULL: the column has no nulls */
        size_t filled;  /* rows that have a value */
        struct mt_vocabulary texts;
    } part[MT_COLUMNS_MOST];
    bool lacks_memory; /* since some row: what was put is incomplete */
};

/* Begins anew, without rows. Columns of zeros are to be begun, or cleared. */
void mt_columns_begin(struct mt_columns *columns, const struct mt_table *table);
void mt_columns_clear(struct mt_columns *columns);

static inline bool mt_columns_are_full(const struct mt_columns *columns)
{
    if (columns->n >= MT_COLUMNS_ROWS || columns->lacks_memory)
        return true;
    for (size_t i = 0; i < columns->table->n_columns; i++)
        if (columns->part[i].texts.size >= MT_COLUMNS_TEXT)
            return true;
    return false;
}

/* One row more, in which every column is null, or zero, until it is put. False: no memory. */
bool mt_columns_grow(struct mt_columns *columns);
static inline bool mt_columns_row(struct mt_columns *columns)
{
    if (columns->n == columns->capacity && !mt_columns_grow(columns))
        return false;
    columns->n++;
    return true;
}

/* Puts a value into the last row, once; of a column of numbers, of texts. A text of NULL or without
 * characters is null where the column has nulls. */
static inline void mt_columns_put(struct mt_columns *columns, unsigned column, int64_t value)
{
    struct mt_column_part *part = &columns->part[column];
    size_t row = columns->n - 1;
    switch (columns->table->column[column].type) {
    case MT_COLUMN_INT16:
        ((int16_t *)part->values)[row] = (int16_t)value;
        break;
    case MT_COLUMN_INT64:
        ((int64_t *)part->values)[row] = value;
        break;
    default:
        ((int32_t *)part->values)[row] = (int32_t)value;
        break;
    }
    if (part->valid)
        part->valid[row / 8] |= (uint8_t)(1u << row % 8);
    part->filled++;
}
void mt_columns_text(struct mt_columns *columns, unsigned column, const char *text);

/* The rows as an Arrow array, to be released; the columns have none afterwards, and are to be
 * begun. 0 or -ENOMEM. */
int mt_columns_take(struct mt_columns *columns, struct ArrowArray *out);

/* The table's schema, to be released. 0 or -ENOMEM. */
int mt_columns_schema(const struct mt_table *table, struct ArrowSchema *out);

#endif
