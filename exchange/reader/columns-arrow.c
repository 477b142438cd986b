/* SPDX-License-Identifier: Apache-2.0 */
/* Columns as an Arrow array, a table as its schema. Each owns its buffers or its metadata, and a
 * parent the structures of its children. Names, formats and meanings are constants. */
#include "columns-arrow.h"
#include "quota.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct owned_array {
    struct ArrowArray **children; /* NULL: none */
    const void *buffers[3];
};

static void release_array(struct ArrowArray *array)
{
    struct owned_array *owned = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release) /* else it was moved away */
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    free(owned->children);
    if (array->dictionary) {
        if (array->dictionary->release)
            array->dictionary->release(array->dictionary);
        free(array->dictionary);
    }
    for (size_t i = 0; i < sizeof owned->buffers / sizeof *owned->buffers; i++)
        free((void *)owned->buffers[i]);
    free(owned);
    array->release = NULL;
}

static struct owned_array *new_array(struct ArrowArray *out, size_t length, int64_t n_buffers)
{
    struct owned_array *owned = calloc(1, sizeof *owned);
    memset(out, 0, sizeof *out);
    if (!owned)
        return NULL;
    out->length = (int64_t)length;
    out->n_buffers = n_buffers;
    out->buffers = owned->buffers;
    out->private_data = owned;
    out->release = release_array;
    return owned;
}

static int take_texts(const struct mt_texts *texts, struct ArrowArray *out)
{
    struct owned_array *owned = new_array(out, texts->n, 3);
    int32_t *offsets;
    char *bytes;
    if (!owned || mt_texts_join(texts, &offsets, &bytes))
        return -ENOMEM;
    owned->buffers[1] = offsets;
    owned->buffers[2] = bytes;
    return 0;
}

static int take_column(struct mt_columns *columns, size_t i, struct ArrowArray *out)
{
    struct mt_column_part *part = &columns->part[i];
    struct owned_array *owned = new_array(out, columns->n, 2);
    if (!owned)
        return -ENOMEM;
    owned->buffers[0] = part->valid;
    owned->buffers[1] = part->values;
    out->null_count = part->valid ? (int64_t)(columns->n - part->filled) : 0;
    part->valid = NULL;
    part->values = NULL;
    if (columns->table->column[i].type != MT_COLUMN_TEXT)
        return 0;
    out->dictionary = calloc(1, sizeof *out->dictionary);
    return out->dictionary ? take_texts(&part->texts, out->dictionary) : -ENOMEM;
}

static void hand_over(struct ArrowArray *array)
{
    struct owned_array *owned = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        hand_over(array->children[i]);
        mt_quota_hand_over(array->children[i]);
    }
    mt_quota_hand_over(owned->children);
    if (array->dictionary) {
        hand_over(array->dictionary);
        mt_quota_hand_over(array->dictionary);
    }
    for (size_t i = 0; i < sizeof owned->buffers / sizeof *owned->buffers; i++)
        mt_quota_hand_over((void *)owned->buffers[i]);
    mt_quota_hand_over(owned);
}

int mt_columns_take(struct mt_columns *columns, struct ArrowArray *out)
{
    size_t n_columns = columns->table->n_columns;
    if (!columns->capacity && !mt_columns_grow(columns))
        return -ENOMEM;
    struct owned_array *owned = new_array(out, columns->n, 1);
    int rc = owned ? 0 : -ENOMEM;
    if (owned)
        owned->children = out->children = calloc(n_columns, sizeof *out->children);
    if (owned && !owned->children)
        rc = -ENOMEM;
    for (size_t i = 0; i < n_columns && !rc; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        if (!out->children[i]) {
            rc = -ENOMEM;
            break;
        }
        out->n_children++;
        rc = take_column(columns, i, out->children[i]);
    }
    if (rc && owned)
        release_array(out);
    else if (!rc)
        hand_over(out);
    mt_columns_clear(columns);
    return rc;
}

/* Names, formats and meanings are constants; what a schema owns are its children and its metadata.
 */
struct owned_schema {
    struct ArrowSchema **children; /* NULL: none */
    char *metadata;
};

static void release_schema(struct ArrowSchema *schema)
{
    struct owned_schema *owned = schema->private_data;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    if (schema->dictionary) {
        if (schema->dictionary->release)
            schema->dictionary->release(schema->dictionary);
        free(schema->dictionary);
    }
    free(owned->children);
    free(owned->metadata);
    free(owned);
    schema->release = NULL;
}

static char *put_number(char *at, size_t number)
{
    int32_t value = (int32_t)number;
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static char *put_text(char *at, const char *text)
{
    size_t size = strlen(text);
    at = put_number(at, size);
    memcpy(at, text, size);
    return at + size;
}

/* Make the metadata of keys and values, as the specification has it: the number of pairs, then each
 * length and text. */
static char *make_metadata(const char *const pair[][2], size_t n)
{
    size_t size = 4;
    for (size_t i = 0; i < n; i++)
        size += 8 + strlen(pair[i][0]) + strlen(pair[i][1]);
    char *metadata = malloc(size), *at = metadata;
    if (!metadata)
        return NULL;
    at = put_number(at, n);
    for (size_t i = 0; i < n; i++)
        at = put_text(put_text(at, pair[i][0]), pair[i][1]);
    return metadata;
}

static struct owned_schema *new_schema(struct ArrowSchema *out, const char *format,
                                       const char *name)
{
    struct owned_schema *owned = calloc(1, sizeof *owned);
    memset(out, 0, sizeof *out);
    if (!owned)
        return NULL;
    out->format = format;
    out->name = name;
    out->private_data = owned;
    out->release = release_schema;
    return owned;
}

static int make_column(const struct mt_table_column *column, struct ArrowSchema *out)
{
    static const char *const formats[] = {[MT_COLUMN_INT16] = "s",
                                          [MT_COLUMN_INT32] = "i",
                                          [MT_COLUMN_INT64] = "l",
                                          [MT_COLUMN_TEXT] = "i"};
    const char *const pairs[][2] = {{"meaning", column->meaning}, {"unit", column->unit}};
    struct owned_schema *owned = new_schema(out, formats[column->type], column->name);
    if (!owned)
        return -ENOMEM;
    out->flags = column->has_nulls ? ARROW_FLAG_NULLABLE : 0;
    out->metadata = owned->metadata = make_metadata(pairs, *column->unit ? 2 : 1);
    if (!out->metadata)
        return -ENOMEM;
    if (column->type != MT_COLUMN_TEXT)
        return 0;
    out->dictionary = calloc(1, sizeof *out->dictionary);
    return out->dictionary && new_schema(out->dictionary, "u", "") ? 0 : -ENOMEM;
}

int mt_columns_schema(const struct mt_table *table, struct ArrowSchema *out)
{
    const char *const pairs[][2] = {{"memtap.table", table->name}, {"meaning", table->meaning}};
    struct owned_schema *owned = new_schema(out, "+s", "");
    if (!owned)
        return -ENOMEM;
    out->metadata = owned->metadata = make_metadata(pairs, 2);
    out->children = owned->children = calloc(table->n_columns, sizeof *out->children);
    int rc = out->metadata && out->children ? 0 : -ENOMEM;
    for (size_t i = 0; i < table->n_columns && !rc; i++) {
        out->children[i] = calloc(1, sizeof **out->children);
        if (!out->children[i]) {
            rc = -ENOMEM;
            break;
        }
        out->n_children++;
        rc = make_column(&table->column[i], out->children[i]);
    }
    if (rc)
        release_schema(out);
    return rc;
}
