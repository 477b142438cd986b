/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow's IPC format: batches of a table's rows, and dictionaries of its texts, which grow from
 * batch to batch. A stream has the additions before the first batch that needs them; a file has
 * each dictionary once, at its end, where the footer points to it.
 */
#include "analyzer/support/grow.h"
#include "arrow-parts.h"
#include "export.h"

#include <errno.h>
#include <stdlib.h>

struct arrow {
    struct mt_sink *sink;
    const struct mt_table *table;
    bool is_stream;
    struct mt_flat flat;
    struct mt_texts texts[MT_COLUMNS_MOST]; /* of all batches */
    struct mt_arrow_place *batches;
    size_t n_batches, batches_capacity;
    struct mt_arrow_place dictionaries[MT_COLUMNS_MOST];
    size_t n_dictionaries;
};

static int put_dictionary(struct arrow *arrow, unsigned i)
{
    const struct mt_texts *texts = &arrow->texts[i];
    int32_t *offsets;
    char *bytes;
    if (mt_texts_join(texts, &offsets, &bytes))
        return -ENOMEM;
    struct mt_arrow_array array = {.n = (int64_t)texts->n,
                                   .buffer = {NULL, offsets, bytes},
                                   .size = {0, (int64_t)(texts->n + 1) * 4, (int64_t)texts->bytes},
                                   .n_buffers = 3};
    struct mt_arrow_place *place =
        arrow->is_stream ? NULL : &arrow->dictionaries[arrow->n_dictionaries++];
    int rc = mt_arrow_batch(arrow->sink, &arrow->flat, &array, 1, (int)i, place);
    free(offsets);
    free(bytes);
    return rc;
}

/* Number the batch's texts as all batches do, in place. */
static int number_texts(struct arrow *arrow, const struct mt_columns *columns, unsigned i)
{
    const struct mt_column_part *part = &columns->part[i];
    struct mt_texts *texts = &arrow->texts[i];
    size_t before = texts->n;
    uint32_t *number = calloc(part->texts.n + 1, sizeof *number);
    int rc = number ? 0 : -ENOMEM;
    for (size_t j = 0; j < part->texts.n && !rc; j++)
        rc = mt_texts_add(texts, part->texts.text[j], &number[j]);
    for (size_t row = 0; row < columns->n && !rc; row++) {
        int32_t *value = (int32_t *)part->values + row;
        if (part->texts.n)
            *value = (int32_t)number[*value];
    }
    free(number);
    if (!rc && arrow->is_stream && (texts->n > before || !arrow->n_batches))
        rc = put_dictionary(arrow, i);
    return rc;
}

static int put_batch(void *data, const struct mt_columns *columns)
{
    struct arrow *arrow = data;
    struct mt_arrow_array arrays[MT_COLUMNS_MOST];
    int64_t n = (int64_t)columns->n;
    int rc = 0;
    for (unsigned i = 0; i < arrow->table->n_columns && !rc; i++) {
        const struct mt_column_part *part = &columns->part[i];
        enum mt_column_type type = arrow->table->column[i].type;
        int64_t nulls = part->valid ? n - (int64_t)part->filled : 0;
        if (type == MT_COLUMN_TEXT)
            rc = number_texts(arrow, columns, i);
        arrays[i] = (struct mt_arrow_array){
            .n = n,
            .nulls = nulls,
            .buffer = {part->valid, part->values},
            .size = {nulls ? (n + 7) / 8 : 0, n * (int64_t)mt_column_width(type)},
            .n_buffers = 2};
    }
    if (!rc)
        rc = MT_GROW(arrow->batches, arrow->batches_capacity, arrow->n_batches);
    if (!rc)
        rc = mt_arrow_batch(arrow->sink, &arrow->flat, arrays, arrow->table->n_columns, -1,
                            &arrow->batches[arrow->n_batches++]);
    return rc ? rc : arrow->sink->rc;
}

static int put_all(struct arrow *arrow, const struct mt_export *export,
                   struct mt_export_error *error)
{
    int rc = mt_arrow_schema(arrow->sink, &arrow->flat, arrow->table);
    if (!rc)
        rc = mt_export_rows(export, put_batch, arrow, error);
    for (unsigned i = 0; i < arrow->table->n_columns && !rc; i++)
        if (arrow->table->column[i].type == MT_COLUMN_TEXT &&
            (!arrow->is_stream || !arrow->n_batches))
            rc = put_dictionary(arrow, i);
    mt_arrow_end(arrow->sink);
    return rc;
}

static void clear(struct arrow *arrow)
{
    for (unsigned i = 0; i < arrow->table->n_columns; i++)
        mt_texts_clear(&arrow->texts[i]);
    free(arrow->batches);
    mt_flat_clear(&arrow->flat);
}

int mt_export_arrow_stream(const struct mt_export *export, struct mt_sink *sink,
                           struct mt_export_error *error)
{
    struct arrow arrow = {.sink = sink, .table = &mt_tables[export->table], .is_stream = true};
    int rc = put_all(&arrow, export, error);
    clear(&arrow);
    return rc;
}

int mt_export_arrow(const struct mt_export *export, struct mt_sink *sink,
                    struct mt_export_error *error)
{
    struct arrow arrow = {.sink = sink, .table = &mt_tables[export->table]};
    mt_sink_put(sink, "ARROW1\0", 8);
    int rc = put_all(&arrow, export, error);
    if (!rc)
        rc = mt_arrow_footer(sink, &arrow.flat, arrow.table, arrow.dictionaries,
                             arrow.n_dictionaries, arrow.batches, arrow.n_batches);
    clear(&arrow);
    return rc;
}
