/* SPDX-License-Identifier: Apache-2.0 */
/* Comma-separated values (RFC 4180): a table's rows, texts between quotation marks. */
#include "export.h"

#include "analyzer/support/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A column's texts as they are written, one after the other. */
struct quoted {
    char *bytes;
    size_t size, *begin; /* of each, and of the end */
};

static int quote(struct quoted *quoted, const struct mt_texts *texts)
{
    FILE *out = open_memstream(&quoted->bytes, &quoted->size);
    quoted->begin = calloc(texts->n + 1, sizeof *quoted->begin);
    for (size_t i = 0; out && quoted->begin && i < texts->n; i++) {
        putc('"', out);
        mt_put_text(out, texts->text[i], MT_FOR_CSV);
        putc('"', out);
        quoted->begin[i + 1] = (size_t)ftell(out);
    }
    return !out || mt_close_memory(out) || !quoted->begin ? -ENOMEM : 0;
}

static void put_rows(struct mt_sink *sink, const struct mt_columns *columns,
                     const struct quoted *quoted)
{
    for (size_t row = 0; row < columns->n; row++)
        for (unsigned i = 0; i < columns->table->n_columns; i++) {
            if (i)
                mt_sink_byte(sink, ',');
            if (mt_columns_have(columns, i, row)) {
                int64_t value = mt_columns_get(columns, i, row);
                const size_t *begin = quoted[i].begin;
                if (begin)
                    mt_sink_put(sink, quoted[i].bytes + begin[value],
                                begin[value + 1] - begin[value]);
                else
                    mt_sink_number(sink, value);
            }
            if (i + 1 == columns->table->n_columns)
                mt_sink_byte(sink, '\n');
        }
}

static int put_batch(void *data, const struct mt_columns *columns)
{
    struct mt_sink *sink = data;
    struct quoted quoted[MT_COLUMNS_MOST] = {0};
    int rc = 0;
    for (unsigned i = 0; i < columns->table->n_columns && !rc; i++)
        if (columns->table->column[i].type == MT_COLUMN_TEXT)
            rc = quote(&quoted[i], &columns->part[i].texts);
    if (!rc)
        put_rows(sink, columns, quoted);
    for (unsigned i = 0; i < columns->table->n_columns; i++) {
        free(quoted[i].bytes);
        free(quoted[i].begin);
    }
    return rc ? rc : sink->rc;
}

int mt_export_csv(const struct mt_export *export, struct mt_sink *sink,
                  struct mt_export_error *error)
{
    const struct mt_table *table = &mt_tables[export->table];
    for (size_t i = 0; i < table->n_columns; i++) {
        mt_sink_text(sink, i ? "," : "");
        mt_sink_text(sink, table->column[i].name);
    }
    mt_sink_byte(sink, '\n');
    return mt_export_rows(export, put_batch, sink, error);
}
