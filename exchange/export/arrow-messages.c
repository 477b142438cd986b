/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow-parts.h"

#include <errno.h>

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_UTF8 = 5 };

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
                       int64_t body, struct mt_arrow_place *place)
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
        *place = (struct mt_arrow_place){(int64_t)mt_sink_position(sink),
                                         (int32_t)(size + sizeof before), 0, body};
    mt_sink_put(sink, before, sizeof before);
    mt_sink_put(sink, bytes, size);
    return 0;
}

int mt_arrow_schema(struct mt_sink *sink, struct mt_flat *flat, const struct mt_table *table)
{
    mt_flat_reset(flat);
    return put_message(sink, flat, HEADER_SCHEMA, schema(flat, table), 0, NULL);
}

static int64_t padded(int64_t size)
{
    return (size + 63) & ~INT64_C(63);
}

/* Write a batch with the lengths of what is in the body. */
static uint32_t batch(struct mt_flat *flat, const struct mt_arrow_array *arrays, size_t n,
                      int64_t *body)
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

static void put_body(struct mt_sink *sink, const struct mt_arrow_array *array)
{
    static const unsigned char zeros[64];
    for (unsigned i = 0; i < array->n_buffers; i++) {
        mt_sink_put(sink, array->buffer[i], (size_t)array->size[i]);
        mt_sink_put(sink, zeros, (size_t)(padded(array->size[i]) - array->size[i]));
    }
}

int mt_arrow_batch(struct mt_sink *sink, struct mt_flat *flat, const struct mt_arrow_array *arrays,
                   size_t n, int dictionary, struct mt_arrow_place *place)
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

void mt_arrow_end(struct mt_sink *sink)
{
    static const int32_t end[2] = {-1, 0};
    mt_sink_put(sink, end, sizeof end);
}

int mt_arrow_footer(struct mt_sink *sink, struct mt_flat *flat, const struct mt_table *table,
                    const struct mt_arrow_place *dictionaries, size_t n_dictionaries,
                    const struct mt_arrow_place *batches, size_t n_batches)
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
