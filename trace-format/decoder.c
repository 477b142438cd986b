/* SPDX-License-Identifier: Apache-2.0 */
#include "decoder.h"
#include "columns.h"
#include "cuda-apis.h"
#include "varint.h"

#include <errno.h>
#include <string.h>

struct cursor {
    const unsigned char *at, *end;
};

static int take(struct cursor *cursor, uint64_t *value)
{
    const unsigned char *next = mt_varint_get(cursor->at, cursor->end, value);
    if (!next)
        return -EINVAL;
    cursor->at = next;
    return 0;
}

static int take32(struct cursor *cursor, uint32_t *value)
{
    uint64_t wide;
    if (take(cursor, &wide) || wide > UINT32_MAX)
        return -EINVAL;
    *value = (uint32_t)wide;
    return 0;
}

/* The payload begins with a directory: the number of columns, then id and size of each. A column
 * that this version does not know is passed over. */
static int open_columns(struct cursor payload, struct cursor columns[MT_COLUMNS])
{
    uint64_t count, id[256], bytes[256];
    if (take(&payload, &count) || count > 256)
        return -EINVAL;
    for (uint64_t i = 0; i < count; i++)
        if (take(&payload, &id[i]) || take(&payload, &bytes[i]))
            return -EINVAL;
    memset(columns, 0, MT_COLUMNS * sizeof *columns);
    for (uint64_t i = 0; i < count; i++) {
        if (bytes[i] > (size_t)(payload.end - payload.at))
            return -EINVAL;
        if (id[i] < MT_COLUMNS)
            columns[id[i]] = (struct cursor){payload.at, payload.at + bytes[i]};
        payload.at += bytes[i];
    }
    return 0;
}

/* The next value of a column; one that is not there is all zeros. */
static int take_column(struct cursor *column, uint64_t *value)
{
    *value = 0;
    return column->at ? take(column, value) : 0;
}

static int take_column32(struct cursor *column, uint32_t *value)
{
    *value = 0;
    return column->at ? take32(column, value) : 0;
}

/* ns since the record before. */
static int take_time(struct cursor columns[MT_COLUMNS], unsigned version, uint64_t *elapsed)
{
    struct cursor *low = &columns[MT_COLUMN_TIME];
    if (version < 2)
        return take_column(low, elapsed);
    if (take_column(&columns[MT_COLUMN_TIME_HIGH], elapsed) || *elapsed > UINT64_MAX >> 8 ||
        (low->at && low->at == low->end))
        return -EINVAL;
    *elapsed = *elapsed << 8 | (low->at ? *low->at++ : 0);
    return 0;
}

/* Version 1 knows cudaMalloc, which is number 0, and cudaFree. */
static void say_api(struct mt_event *event)
{
    if (event->kind == MT_CUDA_FREE)
        event->arg[1] = MT_API_CUDA_FREE;
    else if (event->kind == MT_CUDA_FREE_FAILED)
        event->arg[2] = MT_API_CUDA_FREE;
}

static int decode_event(struct cursor columns[MT_COLUMNS], struct mt_predictor *predictor,
                        struct mt_event *event)
{
    struct cursor *kinds = &columns[MT_COLUMN_KIND];
    if (kinds->at == kinds->end)
        return -EINVAL;
    event->kind = *kinds->at++;
    if (event->kind >= MT_KIND_LIMIT || !mt_kinds[event->kind].name)
        return -EINVAL;
    uint64_t device;
    if (take_time(columns, predictor->version, &event->time_ns) ||
        take_column32(&columns[MT_COLUMN_THREAD], &event->thread) ||
        take_column(&columns[MT_COLUMN_DEVICE], &device) || device > INT16_MAX ||
        take_column32(&columns[MT_COLUMN_STACK], &event->stack))
        return -EINVAL;
    event->device = (int16_t)((int)device - 1);
    memset(event->arg, 0, sizeof event->arg);
    for (unsigned field = 0; field < mt_kinds[event->kind].n_fields; field++) {
        uint64_t stored;
        if (take_column(&columns[mt_arg_column(event->kind, field)], &stored))
            return -EINVAL;
        event->arg[field] = mt_predict_value(predictor, event, field, stored);
    }
    if (predictor->version < 2)
        say_api(event);
    return 0;
}

int mt_decode_events(const unsigned char *raw, size_t size, unsigned version, uint64_t base_time_ns,
                     size_t records, struct mt_event *out)
{
    struct cursor columns[MT_COLUMNS];
    struct mt_predictor predictor;
    memset(&predictor, 0, sizeof predictor);
    predictor.version = version;
    if (open_columns((struct cursor){raw, raw + size}, columns))
        return -EINVAL;
    uint64_t now = base_time_ns;
    for (size_t i = 0; i < records; i++) {
        if (decode_event(columns, &predictor, &out[i]))
            return -EINVAL;
        now += out[i].time_ns;
        out[i].time_ns = now;
    }
    return 0;
}

static int take_text(struct cursor *cursor, struct mt_definition *out)
{
    uint64_t size;
    if (take(cursor, &size) || size > MT_TEXT_LIMIT || size > (size_t)(cursor->end - cursor->at))
        return -EINVAL;
    out->text = (const char *)cursor->at;
    out->text_size = size;
    cursor->at += size;
    return 0;
}

static int decode_definition(struct cursor *cursor, struct mt_definition *out)
{
    memset(out, 0, sizeof *out);
    uint32_t kind;
    if (take32(cursor, &kind) || take32(cursor, &out->id))
        return -EINVAL;
    out->kind = (enum mt_definition_kind)kind;
    switch (kind) {
    case MT_DEF_STRING:
    case MT_DEF_INFO:
        return take_text(cursor, out);
    case MT_DEF_FRAME:
    case MT_DEF_SYMBOL:
        return take32(cursor, &out->frame.function) || take32(cursor, &out->frame.file) ||
                       take32(cursor, &out->frame.line)
                   ? -EINVAL
                   : 0;
    case MT_DEF_STACK:
        return take32(cursor, &out->stack.parent) || take32(cursor, &out->stack.frame) ? -EINVAL
                                                                                       : 0;
    case MT_DEF_MODULE:
        return take32(cursor, &out->module.build_id) || take32(cursor, &out->module.path) ? -EINVAL
                                                                                          : 0;
    case MT_DEF_NATIVE:
        return take32(cursor, &out->native.module) || take(cursor, &out->native.address) ? -EINVAL
                                                                                         : 0;
    case MT_DEF_THREAD:
        return take32(cursor, &out->os_thread) || take_text(cursor, out) ? -EINVAL : 0;
    }
    return -EINVAL;
}

int mt_decode_definitions(const unsigned char *raw, size_t size, size_t records,
                          struct mt_definition *out)
{
    struct cursor cursor = {raw, raw + size};
    for (size_t i = 0; i < records; i++)
        if (decode_definition(&cursor, &out[i]))
            return -EINVAL;
    return 0;
}

int mt_decode_definition(const unsigned char **at, const unsigned char *end,
                         struct mt_definition *out)
{
    struct cursor cursor = {*at, end};
    int rc = decode_definition(&cursor, out);
    *at = cursor.at;
    return rc;
}

int mt_decode_end(const unsigned char *raw, size_t size, struct mt_end *out)
{
    struct cursor cursor = {raw, raw + size};
    if (take(&cursor, &out->time_ns) || take(&cursor, &out->events) || take(&cursor, &out->lost))
        return -EINVAL;
    return 0;
}
