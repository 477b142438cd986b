/* SPDX-License-Identifier: Apache-2.0 */
/* Columns as an Arrow array: each array owns its buffers, and a parent the structures of its
 * children. */
#include "columns-arrow.h"

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
