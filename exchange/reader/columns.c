/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {
    [MT_COLUMN_INT16] = 2, [MT_COLUMN_INT32] = 4, [MT_COLUMN_INT64] = 8, [MT_COLUMN_TEXT] = 4};

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
        mt_vocabulary_clear(&columns->part[i].texts);
    }
    memset(columns, 0, sizeof *columns);
}

/* More bytes, the new ones zeros. */
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
        columns->lacks_memory =
            !widen(&part->values, old * sizes[column->type], more * sizes[column->type]) ||
            (column->has_nulls && !widen(&part->valid, old / 8, more / 8));
    }
    if (columns->lacks_memory)
        return false;
    columns->capacity = more;
    return true;
}

void mt_columns_text(struct mt_columns *columns, unsigned column, const char *text)
{
    if ((!text || !*text) && columns->table->column[column].has_nulls)
        return;
    int32_t number = mt_vocabulary_add(&columns->part[column].texts, text ? text : "");
    if (number < 0)
        columns->lacks_memory = true;
    else
        mt_columns_put(columns, column, number);
}

/* --- what is given away: each array owns its buffers, and a parent the structures of its children
 * --- */

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

static int take_texts(struct mt_vocabulary *texts, struct ArrowArray *out)
{
    struct owned_array *owned = new_array(out, texts->n, 3);
    if (!owned)
        return -ENOMEM;
    owned->buffers[1] = texts->offset ? (void *)texts->offset : calloc(1, sizeof *texts->offset);
    owned->buffers[2] = texts->bytes ? texts->bytes : calloc(1, 1);
    texts->offset = NULL;
    texts->bytes = NULL;
    return owned->buffers[1] && owned->buffers[2] ? 0 : -ENOMEM;
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
    mt_columns_clear(columns);
    return rc;
}
