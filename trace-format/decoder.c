/* SPDX-License-Identifier: Apache-2.0 */
#include "decoder.h"
#include "varint.h"

#include <string.h>

static int read_text(struct mt_cursor *cursor, struct mt_definition *out)
{
    uint64_t size;
    if (mt_cursor_get(cursor, &size) || size > MT_TEXT_LIMIT ||
        size > (size_t)(cursor->end - cursor->at))
        return -EINVAL;
    out->text = (const char *)cursor->at;
    out->text_size = size;
    cursor->at += size;
    return 0;
}

static int read_frame(struct mt_cursor *cursor, struct mt_definition *out)
{
    if (mt_cursor_get32(cursor, &out->frame.function) ||
        mt_cursor_get32(cursor, &out->frame.file) || mt_cursor_get32(cursor, &out->frame.line))
        return -EINVAL;
    if (out->kind == MT_DEF_CALL &&
        (mt_cursor_get32(cursor, &out->frame.root) || mt_cursor_get32(cursor, &out->frame.path)))
        return -EINVAL;
    return 0;
}

static int read_summary(struct mt_cursor *cursor, struct mt_definition *out)
{
    uint32_t device;
    if (mt_cursor_get32(cursor, &device) || device > INT16_MAX || read_text(cursor, out))
        return -EINVAL;
    out->device = (int32_t)device - 1;
    return 0;
}

static int decode_definition(struct mt_cursor *cursor, struct mt_definition *out)
{
    memset(out, 0, sizeof *out);
    uint32_t kind;
    if (mt_cursor_get32(cursor, &kind) || mt_cursor_get32(cursor, &out->id))
        return -EINVAL;
    out->kind = (enum mt_definition_kind)kind;
    switch (kind) {
    case MT_DEF_STRING:
    case MT_DEF_INFO:
        return read_text(cursor, out);
    case MT_DEF_FRAME:
    case MT_DEF_SYMBOL:
    case MT_DEF_CALL:
        return read_frame(cursor, out);
    case MT_DEF_STACK:
        return mt_cursor_get32(cursor, &out->stack.parent) ||
                       mt_cursor_get32(cursor, &out->stack.frame)
                   ? -EINVAL
                   : 0;
    case MT_DEF_IMAGE:
        return mt_cursor_get32(cursor, &out->image.build_id) ||
                       mt_cursor_get32(cursor, &out->image.path)
                   ? -EINVAL
                   : 0;
    case MT_DEF_NATIVE:
        return mt_cursor_get32(cursor, &out->native.image) ||
                       mt_cursor_get(cursor, &out->native.address)
                   ? -EINVAL
                   : 0;
    case MT_DEF_THREAD:
        return mt_cursor_get32(cursor, &out->os_thread) || read_text(cursor, out) ? -EINVAL : 0;
    case MT_DEF_SUMMARY:
        return read_summary(cursor, out);
    }
    return -EINVAL;
}

int mt_decode_definitions(const unsigned char *raw, size_t size, size_t records,
                          struct mt_definition *out)
{
    struct mt_cursor cursor = {raw, raw + size};
    for (size_t i = 0; i < records; i++)
        if (decode_definition(&cursor, &out[i]))
            return -EINVAL;
    return 0;
}

int mt_decode_definition(const unsigned char **at, const unsigned char *end,
                         struct mt_definition *out)
{
    struct mt_cursor cursor = {*at, end};
    int rc = decode_definition(&cursor, out);
    *at = cursor.at;
    return rc;
}

int mt_decode_end(const unsigned char *raw, size_t size, struct mt_end *out)
{
    struct mt_cursor cursor = {raw, raw + size};
    if (mt_cursor_get(&cursor, &out->time_ns) || mt_cursor_get(&cursor, &out->events) ||
        mt_cursor_get(&cursor, &out->lost))
        return -EINVAL;
    return 0;
}
