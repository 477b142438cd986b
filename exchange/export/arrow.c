/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow's IPC format: batches of a table's rows, and dictionaries of its texts, which grow from
 * batch to batch. A stream has the additions before the first batch that needs them; a file has
 * each dictionary once, at its end, where the footer points to it.
 */
#include "analyzer/support/grow.h"
#include "exchange/encode/flatbuffer.h"
#include "export.h"

#include <errno.h>
#include <stdlib.h>

/* Its messages: format/Message.fbs, Schema.fbs, File.fbs of the specification. */
enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_UTF8 = 5 };

/* Where a message is in a file, for its footer. */
struct place {
    int64_t offset;
    int32_t metadata;
    int32_t zero;
    int64_t body;
};

/* A column of a batch, or the texts of a dictionary. Buffers are the caller's. */
struct array {
    int64_t n, nulls;
    const void
        *buffer[3]; /* validity (empty if there are no nulls), values; of texts offsets, bytes */
    int64_t size[3];
    unsigned n_buffers;
};

static uint32_t int_type(struct mt_flat *flat, int bytes)
{
    mt_flat_begin(flat);
    mt_flat_number(flat, 0, (uint64_t)bytes * 8, 4);
    mt_flat_number(flat, 1, 1, 1);
    return mt_flat_end(flat);
}

static uint32_t utf8_type(struct mt_flat *flat)
{
    mt_flat_begin(flat);
    return mt_flat_end(flat);
}

static uint32_t encoding(struct mt_flat *flat, unsigned id)
{
    uint32_t type = int_type(flat, 4);
    mt_flat_begin(flat);
    mt_flat_number(flat, 0, id, 8);
    mt_flat_place(flat, 1, type);
    return mt_flat_end(flat);
}

static uint32_t pair(struct mt_flat *flat, const char *key, const char *value)
{
    uint32_t key_place = mt_flat_text(flat, key), value_place = mt_flat_text(flat, value);
    mt_flat_begin(flat);
    mt_flat_place(flat, 0, key_place);
    mt_flat_place(flat, 1, value_place);
    return mt_flat_end(flat);
}

/* Write a column's field, with its unit and meaning. */
static uint32_t field(struct mt_flat *flat, const struct mt_table_column *column, unsigned id)
{
    bool is_text = column->type == MT_COLUMN_TEXT;
    uint32_t pairs[2], n = 0;
    pairs[n++] = pair(flat, "meaning", column->meaning);
    if (*column->unit)
        pairs[n++] = pair(flat, "unit", column->unit);
    uint32_t metadata = mt_flat_places(flat, pairs, n), children = mt_flat_places(flat, NULL, 0);
    uint32_t dictionary = is_text ? encoding(flat, id) : 0;
    uint32_t type = is_text ? utf8_type(flat) : int_type(flat, (int)mt_column_width(column->type));
    uint32_t name = mt_flat_text(flat, column->name);
    mt_flat_begin(flat);
    mt_flat_place(flat, 0, name);
    mt_flat_number(flat, 1, column->has_nulls, 1);
    mt_flat_number(flat, 2, is_text ? TYPE_UTF8 : TYPE_INT, 1);
    mt_flat_place(flat, 3, type);
    mt_flat_place(flat, 4, dictionary);
    mt_flat_place(flat, 5, children);
    mt_flat_place(flat, 6, metadata);
    return mt_flat_end(flat);
}

static uint32_t schema(struct mt_flat *flat, const struct mt_table *table)
{
    uint32_t fields[MT_COLUMNS_MOST];
    for (unsigned i = 0; i < table->n_columns; i++)
        fields[i] = field(flat, &table->column[i], i);
    uint32_t vector = mt_flat_places(flat, fields, table->n_columns);
    uint32_t name = pair(flat, "memtap.table", table->name);
    uint32_t metadata = mt_flat_places(flat, &name, 1);
    mt_flat_begin(flat);
    mt_flat_place(flat, 1, vector);
    mt_flat_place(flat, 2, metadata);
    return mt_flat_end(flat);
}

/* Put the metadata of a message, with what comes before it; its body follows. */
static int put_message(struct mt_sink *sink, struct mt_flat *flat, int header, uint32_t content,
                       int64_t body, struct place *place)
{
    mt_flat_begin(flat);
    mt_flat_number(flat, 3, (uint64_t)body, 8);
    mt_flat_place(flat, 2, content);
    mt_flat_number(flat, 0, VERSION_5, 2);
    mt_flat_number(flat, 1, (uint64_t)header, 1);
    size_t size;
    const unsigned char *bytes = mt_flat_finish(flat, mt_flat_end(flat), &size);
    if (!bytes)
        return -ENOMEM;
    const int32_t before[2] = {-1, (int32_t)size};
    if (place)
        *place = (struct place){(int64_t)mt_sink_position(sink), (int32_t)(size + sizeof before), 0,
                                body};
    mt_sink_put(sink, before, sizeof before);
    mt_sink_put(sink, bytes, size);
    return 0;
}

static int put_schema(struct mt_sink *sink, struct mt_flat *flat, const struct mt_table *table)
{
    mt_flat_reset(flat);
    return put_message(sink, flat, HEADER_SCHEMA, schema(flat, table), 0, NULL);
}

static int64_t padded(int64_t size)
{
    return (size + 63) & ~INT64_C(63);
}

/* Write a batch with the lengths of what is in the body. */
static uint32_t batch(struct mt_flat *flat, const struct array *arrays, size_t n, int64_t *body)
{
    int64_t nodes[MT_COLUMNS_MOST][2], buffers[MT_COLUMNS_MOST * 3][2];
    size_t n_buffers = 0;
    *body = 0;
    for (size_t i = 0; i < n; i++) {
        nodes[i][0] = arrays[i].n;
        nodes[i][1] = arrays[i].nulls;
        for (unsigned j = 0; j < arrays[i].n_buffers; j++) {
            buffers[n_buffers][0] = *body;
            buffers[n_buffers++][1] = arrays[i].size[j];
            *body += padded(arrays[i].size[j]);
        }
    }
    uint32_t buffers_place = mt_flat_vector(flat, buffers, n_buffers, 16, 8);
    uint32_t nodes_place = mt_flat_vector(flat, nodes, n, 16, 8);
    mt_flat_begin(flat);
    mt_flat_number(flat, 0, (uint64_t)arrays->n, 8);
    mt_flat_place(flat, 1, nodes_place);
    mt_flat_place(flat, 2, buffers_place);
    return mt_flat_end(flat);
}

static void put_body(struct mt_sink *sink, const struct array *array)
{
    static const unsigned char zeros[64];
    for (unsigned i = 0; i < array->n_buffers; i++) {
        mt_sink_put(sink, array->buffer[i], (size_t)array->size[i]);
        mt_sink_put(sink, zeros, (size_t)(padded(array->size[i]) - array->size[i]));
    }
}

/* Put a batch of columns, or if dictionary is not -1, the values of that one. */
static int put_batch_message(struct mt_sink *sink, struct mt_flat *flat, const struct array *arrays,
                             size_t n, int dictionary, struct place *place)
{
    int64_t body;
    mt_flat_reset(flat);
    uint32_t content = batch(flat, arrays, n, &body);
    if (dictionary >= 0) {
        mt_flat_begin(flat);
        mt_flat_number(flat, 0, (uint64_t)dictionary, 8);
        mt_flat_place(flat, 1, content);
        content = mt_flat_end(flat);
    }
    int rc = put_message(sink, flat, dictionary >= 0 ? HEADER_DICTIONARY : HEADER_BATCH, content,
                         body, place);
    for (size_t i = 0; i < n && !rc; i++)
        put_body(sink, &arrays[i]);
    return rc;
}

static void put_end(struct mt_sink *sink)
{
    static const int32_t end[2] = {-1, 0};
    mt_sink_put(sink, end, sizeof end);
}

static int put_footer(struct mt_sink *sink, struct mt_flat *flat, const struct mt_table *table,
                      const struct place *dictionaries, size_t n_dictionaries,
                      const struct place *batches, size_t n_batches)
{
    mt_flat_reset(flat);
    uint32_t batches_place = mt_flat_vector(flat, batches, n_batches, sizeof *batches, 8);
    uint32_t dictionaries_place =
        mt_flat_vector(flat, dictionaries, n_dictionaries, sizeof *dictionaries, 8);
    uint32_t schema_place = schema(flat, table);
    mt_flat_begin(flat);
    mt_flat_number(flat, 0, VERSION_5, 2);
    mt_flat_place(flat, 1, schema_place);
    mt_flat_place(flat, 2, dictionaries_place);
    mt_flat_place(flat, 3, batches_place);
    size_t size;
    const unsigned char *bytes = mt_flat_finish(flat, mt_flat_end(flat), &size);
    if (!bytes)
        return -ENOMEM;
    int32_t length = (int32_t)size;
    mt_sink_put(sink, bytes, size);
    mt_sink_put(sink, &length, sizeof length);
    mt_sink_text(sink, "ARROW1");
    return 0;
}

struct arrow {
    struct mt_sink *sink;
    const struct mt_table *table;
    bool is_stream;
    struct mt_flat flat;
    struct mt_texts texts[MT_COLUMNS_MOST]; /* of all batches */
    struct place *batches;
    size_t n_batches, batches_capacity;
    struct place dictionaries[MT_COLUMNS_MOST];
    size_t n_dictionaries;
};

static int put_dictionary(struct arrow *arrow, unsigned i)
{
    const struct mt_texts *texts = &arrow->texts[i];
    int32_t *offsets;
    char *bytes;
    if (mt_texts_join(texts, &offsets, &bytes))
        return -ENOMEM;
    struct array array = {.n = (int64_t)texts->n,
                          .buffer = {NULL, offsets, bytes},
                          .size = {0, (int64_t)(texts->n + 1) * 4, (int64_t)texts->bytes},
                          .n_buffers = 3};
    struct place *place = arrow->is_stream ? NULL : &arrow->dictionaries[arrow->n_dictionaries++];
    int rc = put_batch_message(arrow->sink, &arrow->flat, &array, 1, (int)i, place);
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
    struct array arrays[MT_COLUMNS_MOST];
    int64_t n = (int64_t)columns->n;
    int rc = 0;
    for (unsigned i = 0; i < arrow->table->n_columns && !rc; i++) {
        const struct mt_column_part *part = &columns->part[i];
        enum mt_column_type type = arrow->table->column[i].type;
        int64_t nulls = part->valid ? n - (int64_t)part->filled : 0;
        if (type == MT_COLUMN_TEXT)
            rc = number_texts(arrow, columns, i);
        arrays[i] =
            (struct array){.n = n,
                           .nulls = nulls,
                           .buffer = {part->valid, part->values},
                           .size = {nulls ? (n + 7) / 8 : 0, n * (int64_t)mt_column_width(type)},
                           .n_buffers = 2};
    }
    if (!rc)
        rc = MT_GROW(arrow->batches, arrow->batches_capacity, arrow->n_batches);
    if (!rc)
        rc = put_batch_message(arrow->sink, &arrow->flat, arrays, arrow->table->n_columns, -1,
                               &arrow->batches[arrow->n_batches++]);
    return rc ? rc : arrow->sink->rc;
}

static int put_all(struct arrow *arrow, const struct mt_export *export,
                   struct mt_export_error *error)
{
    int rc = put_schema(arrow->sink, &arrow->flat, arrow->table);
    if (!rc)
        rc = mt_export_rows(export, put_batch, arrow, error);
    for (unsigned i = 0; i < arrow->table->n_columns && !rc; i++)
        if (arrow->table->column[i].type == MT_COLUMN_TEXT &&
            (!arrow->is_stream || !arrow->n_batches))
            rc = put_dictionary(arrow, i);
    put_end(arrow->sink);
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
        rc = put_footer(sink, &arrow.flat, arrow.table, arrow.dictionaries, arrow.n_dictionaries,
                        arrow.batches, arrow.n_batches);
    clear(&arrow);
    return rc;
}
