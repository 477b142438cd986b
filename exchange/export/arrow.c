/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow's IPC format: batches of a table's rows, after the dictionaries of its texts. */
#include "analyzer/support/grow.h"
#include "arrow-parts.h"
#include "exchange/tables/texts.h"
#include "export.h"

#include <errno.h>
#include <stdlib.h>

#define BATCH 65536u /* rows */

struct arrow_column {
    unsigned char *values, *validity;
    int64_t nulls;
    struct mt_texts texts; /* of all traces */
    uint32_t *place;       /* of one trace's texts, in these */
};

struct arrow {
    struct mt_sink *sink;
    const struct mt_table *table;
    struct mt_flat flat;
    struct arrow_column column[MT_COLUMNS_MOST];
    size_t n; /* rows of the batch */
    struct mt_arrow_place *batches;
    size_t n_batches, batches_capacity;
    struct mt_arrow_place dictionaries[MT_COLUMNS_MOST];
    size_t n_dictionaries;
};

static bool is_text(const struct arrow *arrow, unsigned i)
{
    return arrow->table->column[i].type == MT_COLUMN_TEXT;
}

static int make_columns(struct arrow *arrow)
{
    for (unsigned i = 0; i < arrow->table->n_columns; i++) {
        struct arrow_column *column = &arrow->column[i];
        column->values = calloc(BATCH, (size_t)mt_arrow_width(arrow->table->column[i].type));
        column->validity = calloc(BATCH / 8, 1);
        if (!column->values || !column->validity)
            return -ENOMEM;
    }
    return 0;
}

static void clear_columns(struct arrow *arrow)
{
    for (unsigned i = 0; i < arrow->table->n_columns; i++) {
        free(arrow->column[i].values);
        free(arrow->column[i].validity);
        free(arrow->column[i].place);
        mt_texts_clear(&arrow->column[i].texts);
    }
    free(arrow->batches);
    mt_flat_clear(&arrow->flat);
}

static int put_batch(struct arrow *arrow)
{
    struct mt_arrow_array arrays[MT_COLUMNS_MOST];
    for (unsigned i = 0; i < arrow->table->n_columns; i++) {
        struct arrow_column *column = &arrow->column[i];
        int64_t width = mt_arrow_width(arrow->table->column[i].type), n = (int64_t)arrow->n;
        arrays[i] = (struct mt_arrow_array){.n = n,
                                            .nulls = column->nulls,
                                            .buffer = {column->validity, column->values},
                                            .size = {column->nulls ? (n + 7) / 8 : 0, n * width},
                                            .n_buffers = 2};
    }
    int rc = mt_grow(&arrow->batches, &arrow->batches_capacity, arrow->n_batches + 1,
                     sizeof *arrow->batches);
    if (!rc)
        rc = mt_arrow_batch(arrow->sink, &arrow->flat, arrays, arrow->table->n_columns, -1,
                            &arrow->batches[arrow->n_batches++]);
    for (unsigned i = 0; i < arrow->table->n_columns; i++) {
        arrow->column[i].nulls = 0;
        memset(arrow->column[i].validity, 0, BATCH / 8);
    }
    arrow->n = 0;
    return rc;
}

static int take(void *data, const struct mt_row *row)
{
    struct arrow *arrow = data;
    size_t n = arrow->n;
    for (unsigned i = 0; i < arrow->table->n_columns; i++) {
        struct arrow_column *column = &arrow->column[i];
        int64_t value = row->at[i];
        bool is_null = row->nulls >> i & 1;
        column->nulls += is_null;
        column->validity[n / 8] |= (unsigned char)(!is_null << n % 8);
        switch (arrow->table->column[i].type) {
        case MT_COLUMN_INT16:
            ((int16_t *)(void *)column->values)[n] = (int16_t)(is_null ? 0 : value);
            break;
        case MT_COLUMN_TEXT:
            value = is_null ? 0 : column->place[value];
            __attribute__((fallthrough));
        case MT_COLUMN_INT32:
            ((int32_t *)(void *)column->values)[n] = (int32_t)(is_null ? 0 : value);
            break;
        case MT_COLUMN_INT64:
            ((int64_t *)(void *)column->values)[n] = is_null ? 0 : value;
        }
    }
    arrow->n++;
    int rc = arrow->n == BATCH ? put_batch(arrow) : 0;
    return rc ? rc : arrow->sink->rc;
}

/* Adds the texts of a trace to the dictionaries, and notes where they are there. */
static int learn_texts(struct arrow *arrow, const struct mt_rows *rows, enum mt_table_id table)
{
    for (unsigned i = 0; i < arrow->table->n_columns; i++) {
        struct arrow_column *column = &arrow->column[i];
        if (!is_text(arrow, i))
            continue;
        size_t n = mt_rows_texts(rows, table, i);
        free(column->place);
        column->place = calloc(n + 1, sizeof *column->place);
        if (!column->place)
            return -ENOMEM;
        for (size_t j = 0; j < n; j++)
            if (mt_texts_add(&column->texts, mt_rows_text(rows, table, i, j), &column->place[j]))
                return -ENOMEM;
    }
    return 0;
}

static int put_dictionary(struct arrow *arrow, unsigned i)
{
    const struct mt_texts *texts = &arrow->column[i].texts;
    int32_t *offsets = calloc(texts->n + 1, sizeof *offsets);
    char *bytes = NULL;
    size_t size = 0, capacity = 0;
    int rc = offsets ? 0 : -ENOMEM;
    for (size_t j = 0; j < texts->n && !rc; j++) {
        size_t length = strlen(texts->text[j]);
        rc = mt_grow(&bytes, &capacity, size + length + 1, 1);
        if (rc)
            break;
        memcpy(bytes + size, texts->text[j], length);
        size += length;
        offsets[j + 1] = (int32_t)size;
    }
    struct mt_arrow_array array = {.n = (int64_t)texts->n,
                                   .buffer = {NULL, offsets, bytes},
                                   .size = {0, (int64_t)(texts->n + 1) * 4, (int64_t)size},
                                   .n_buffers = 3};
    if (!rc)
        rc = mt_arrow_batch(arrow->sink, &arrow->flat, &array, 1, (int)i,
                            &arrow->dictionaries[arrow->n_dictionaries++]);
    free(offsets);
    free(bytes);
    return rc;
}

static int open_rows(struct arrow *arrow, const struct mt_export *export, const char *path,
                     struct mt_rows **rows, struct mt_export_error *error)
{
    struct mt_trace_error fault;
    int rc =
        mt_export_note(error, path, &fault, mt_rows_open(rows, path, &export->question, &fault));
    return rc ? rc : learn_texts(arrow, *rows, export->table);
}

/* Everything before the rows. *rows: those of the only trace; of several, NULL: each is read once
 * more. */
static int put_begin(struct arrow *arrow, const struct mt_export *export, struct mt_rows **rows,
                     struct mt_export_error *error)
{
    int rc = make_columns(arrow);
    *rows = NULL;
    for (size_t i = 0; i < export->n_paths && !rc; i++) {
        mt_rows_close(*rows);
        *rows = NULL;
        rc = open_rows(arrow, export, export->paths[i], rows, error);
    }
    if (export->n_paths > 1) {
        mt_rows_close(*rows);
        *rows = NULL;
    }
    if (!rc)
        rc = mt_arrow_schema(arrow->sink, &arrow->flat, arrow->table);
    for (unsigned i = 0; i < arrow->table->n_columns && !rc; i++)
        if (is_text(arrow, i))
            rc = put_dictionary(arrow, i);
    return rc;
}

static int put_all(struct arrow *arrow, const struct mt_export *export,
                   struct mt_export_error *error)
{
    struct mt_rows *rows;
    int rc = put_begin(arrow, export, &rows, error);
    for (size_t i = 0; i < export->n_paths && !rc; i++) {
        if (!rows)
            rc = open_rows(arrow, export, export->paths[i], &rows, error);
        if (!rc)
            rc = mt_export_rows(export, rows, export->paths[i], take, arrow, error);
        mt_rows_close(rows);
        rows = NULL;
    }
    mt_rows_close(rows);
    return rc || !arrow->n ? rc : put_batch(arrow);
}

int mt_export_arrow_stream(const struct mt_export *export, struct mt_sink *sink,
                           struct mt_export_error *error)
{
    struct arrow arrow = {.sink = sink, .table = &mt_tables[export->table]};
    int rc = put_all(&arrow, export, error);
    mt_arrow_end(sink);
    clear_columns(&arrow);
    return rc;
}

int mt_export_arrow(const struct mt_export *export, struct mt_sink *sink,
                    struct mt_export_error *error)
{
    struct arrow arrow = {.sink = sink, .table = &mt_tables[export->table]};
    mt_sink_put(sink, "ARROW1\0", 8);
    int rc = put_all(&arrow, export, error);
    mt_arrow_end(sink);
    if (!rc)
        rc = mt_arrow_footer(sink, &arrow.flat, arrow.table, arrow.dictionaries,
                             arrow.n_dictionaries, arrow.batches, arrow.n_batches);
    clear_columns(&arrow);
    return rc;
}
