/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a table (tables.h) under construction, column by column in Arrow's memory layout: values
 * of the column's width, a validity bit per row, texts by their number among the column's.
 */
#ifndef MT_COLUMNS_H
#define MT_COLUMNS_H

#include "analyzer/query/texts.h"
#include "tables.h"

/* The rows in a batch, unless more come at once; and the bytes of texts in a column. */
#ifndef MT_COLUMNS_ROWS /* tools/fuzz has few */
#define MT_COLUMNS_ROWS 65536u
#endif
#define MT_COLUMNS_TEXT (64u << 20)

#define MT_MEMOS 1024u

struct mt_columns {
    const struct mt_table *table;
    size_t n, capacity; /* rows */
    struct mt_column_part {
        void *values;   /* numbers of the column's type, or numbers of texts: 32 bits */
        uint8_t *valid; /* a bit a row; NULL: the column has no nulls */
        size_t filled;  /* rows that have a value */
        struct mt_texts texts;
        /* By number modulo MT_MEMOS, what mt_columns_name put last; NULL: nothing. */
        struct mt_text_memo {
            uint32_t number; /* plus 1; 0: nothing */
            int32_t place;   /* in texts; -1: null */
        } *memo;
    } part[MT_COLUMNS_MOST];
    bool lacks_memory; /* since some row: what was put is incomplete */
};

/* Start again without rows. Begin or clear columns of zeros. */
void mt_columns_begin(struct mt_columns *columns, const struct mt_table *table);
void mt_columns_clear(struct mt_columns *columns);

size_t mt_column_width(enum mt_column_type type); /* bytes of a value */

static inline bool mt_columns_are_full(const struct mt_columns *columns)
{
    if (columns->n >= MT_COLUMNS_ROWS || columns->lacks_memory)
        return true;
    for (size_t i = 0; i < columns->table->n_columns; i++)
        if (columns->part[i].texts.bytes >= MT_COLUMNS_TEXT)
            return true;
    return false;
}

/* Add a row, in which every column is null, or zero, until it is put. False: no memory. */
bool mt_columns_grow(struct mt_columns *columns);
static inline bool mt_columns_row(struct mt_columns *columns)
{
    if (columns->n == columns->capacity && !mt_columns_grow(columns))
        return false;
    columns->n++;
    return true;
}

/* Return whether a row has a value. */
static inline bool mt_columns_have(const struct mt_columns *columns, unsigned column, size_t row)
{
    const uint8_t *valid = columns->part[column].valid;
    return !valid || valid[row / 8] >> row % 8 & 1;
}

/* Return a row's number, or its text's. */
static inline int64_t mt_columns_get(const struct mt_columns *columns, unsigned column, size_t row)
{
    const void *values = columns->part[column].values;
    switch (columns->table->column[column].type) {
    case MT_COLUMN_INT16:
        return ((const int16_t *)values)[row];
    case MT_COLUMN_INT64:
        return ((const int64_t *)values)[row];
    default:
        return ((const int32_t *)values)[row];
    }
}

/* Put a value into the last row, once. */
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

/* Write a number in the same way, unless it is 0, which means null. */
static inline void mt_columns_put_some(struct mt_columns *columns, unsigned column, int64_t value)
{
    if (value)
        mt_columns_put(columns, column, value);
}

/* Write a text in the same way. NULL, "" and "?" are null if the column is nullable. */
void mt_columns_text(struct mt_columns *columns, unsigned column, const char *text);

/* Put the text that a number stood for in this column, if that is still known; else return false,
 * and put it by mt_columns_name. */
static inline bool mt_columns_again(struct mt_columns *columns, unsigned column, uint32_t number)
{
    const struct mt_text_memo *memo = columns->part[column].memo;
    if (!memo || memo[number % MT_MEMOS].number != number + 1)
        return false;
    if (memo[number % MT_MEMOS].place >= 0)
        mt_columns_put(columns, column, memo[number % MT_MEMOS].place);
    return true;
}
void mt_columns_name(struct mt_columns *columns, unsigned column, uint32_t number,
                     const char *text);

/* Forget what numbers stood for: another trace follows. */
void mt_columns_forget(struct mt_columns *columns);

#endif
