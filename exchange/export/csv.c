/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values (RFC 4180): a table's rows, texts between quotation marks. */
#include "export.h"

#include "analyzer/support/grow.h"
#include "analyzer/support/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A column's texts as they are written, made once. */
struct quoted {
    char **text;
    size_t n;
};

struct csv {
    struct mt_sink *sink;
    const struct mt_table *table;
    struct quoted quoted[MT_COLUMNS_MOST];
};

static char *quote(const char *text)
{
    char *quoted = NULL;
    size_t size;
    FILE *out = open_memstream(&quoted, &size);
    if (!out)
        return NULL;
    putc('"', out);
    mt_put_text(out, text, MT_FOR_CSV);
    putc('"', out);
    if (!fclose(out))
        return quoted;
    free(quoted);
    return NULL;
}

static int quote_column(struct quoted *quoted, const struct mt_rows *rows, enum mt_table_id table,
                        unsigned column)
{
    size_t n = mt_rows_texts(rows, table, column);
    quoted->text = calloc(n + 1, sizeof *quoted->text);
    if (!quoted->text)
        return -ENOMEM;
    for (; quoted->n < n; quoted->n++)
        if (!(quoted->text[quoted->n] = quote(mt_rows_text(rows, table, column, quoted->n))))
            return -ENOMEM;
    return 0;
}

static void unquote(struct csv *csv)
{
    for (unsigned column = 0; column < MT_COLUMNS_MOST; column++) {
        for (size_t i = 0; i < csv->quoted[column].n; i++)
            free(csv->quoted[column].text[i]);
        free(csv->quoted[column].text);
        csv->quoted[column] = (struct quoted){0};
    }
}

static int take(void *data, const struct mt_row *row)
{
    struct csv *csv = data;
    for (unsigned i = 0; i < csv->table->n_columns; i++) {
        if (i)
            mt_sink_byte(csv->sink, ',');
        if (row->nulls >> i & 1)
            continue;
        if (csv->table->column[i].type == MT_COLUMN_TEXT)
            mt_sink_text(csv->sink, csv->quoted[i].text[row->at[i]]);
        else
            mt_sink_number(csv->sink, row->at[i]);
    }
    mt_sink_byte(csv->sink, '\n');
    return csv->sink->rc;
}

static void write_header(const struct csv *csv)
{
    for (size_t i = 0; i < csv->table->n_columns; i++) {
        mt_sink_text(csv->sink, i ? "," : "");
        mt_sink_text(csv->sink, csv->table->column[i].name);
    }
    mt_sink_byte(csv->sink, '\n');
}

static int quote_columns(struct csv *csv, const struct mt_rows *rows, enum mt_table_id table)
{
    int rc = 0;
    for (unsigned i = 0; i < csv->table->n_columns && !rc; i++)
        if (csv->table->column[i].type == MT_COLUMN_TEXT)
            rc = quote_column(&csv->quoted[i], rows, table, i);
    return rc;
}

static int write_trace(const struct mt_export *export, const char *path, struct csv *csv,
                       struct mt_export_error *error)
{
    struct mt_rows *rows;
    struct mt_trace_error fault;
    int rc =
        mt_export_note(error, path, &fault, mt_rows_open(&rows, path, &export->question, &fault));
    if (!rc)
        rc = quote_columns(csv, rows, export->table);
    if (!rc)
        rc = mt_export_rows(export, rows, path, take, csv, error);
    unquote(csv);
    mt_rows_close(rows);
    return rc;
}

int mt_export_csv(const struct mt_export *export, struct mt_sink *sink,
                  struct mt_export_error *error)
{
    struct csv csv = {.sink = sink, .table = &mt_tables[export->table]};
    int rc = 0;
    write_header(&csv);
    for (size_t i = 0; i < export->n_paths && !rc; i++)
        rc = write_trace(export, export->paths[i], &csv, error);
    return rc;
}

int mt_export_csv_live(const struct mt_analysis *analysis, const char *path, struct mt_sink *sink)
{
    struct csv csv = {.sink = sink, .table = &mt_tables[MT_TABLE_BLOCKS]};
    struct mt_rows *rows;
    struct mt_trace_error fault;
    int rc = mt_rows_open(&rows, path, &analysis->replay.question, &fault);
    write_header(&csv);
    if (!rc)
        rc = quote_columns(&csv, rows, MT_TABLE_BLOCKS);
    if (!rc)
        rc = mt_rows_live(rows, analysis, take, &csv, &fault);
    unquote(&csv);
    mt_rows_close(rows);
    return rc;
}
