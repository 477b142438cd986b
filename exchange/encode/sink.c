/* SPDX-License-Identifier: Apache-2.0 */
#include "sink.h"
#include "analyzer/support/new-file.h"
#include "analyzer/support/room.h"
#include "analyzer/support/write.h"
#include "trace-format/safe-text.h"

#include <errno.h>
#include <stdio.h>

static int write_out(const struct mt_sink *sink, const void *bytes, size_t size)
{
    if (sink->done + size > mt_room_of_output())
        return MT_OUTPUT_FULL;
    if (!sink->file)
        return mt_write_all(sink->fd, bytes, size);
    return fwrite(bytes, 1, size, sink->file) == size ? 0 : -EIO;
}

int mt_sink_flush(struct mt_sink *sink)
{
    if (!sink->rc && sink->used)
        sink->rc = write_out(sink, sink->room, sink->used);
    sink->done += sink->used;
    sink->used = 0;
    return sink->rc;
}

void mt_sink_large(struct mt_sink *sink, const void *bytes, size_t size)
{
    mt_sink_flush(sink);
    if (size <= MT_SINK_ROOM) {
        memcpy(sink->room, bytes, size);
        sink->used = size;
        return;
    }
    if (!sink->rc)
        sink->rc = write_out(sink, bytes, size);
    sink->done += size;
}

void mt_sink_number(struct mt_sink *sink, int64_t number)
{
    char digits[20], *at = digits + sizeof digits;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        mt_sink_byte(sink, '-');
    mt_sink_put(sink, at, (size_t)(digits + sizeof digits - at));
}

void mt_sink_json(struct mt_sink *sink, const char *text)
{
    char escaped[8];
    mt_sink_byte(sink, '"');
    while (*text) {
        size_t length = mt_utf8_length(text);
        if (!length) {
            mt_sink_text(sink, "\xef\xbf\xbd");
        } else if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\' || *text == 127) {
            snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned char)*text);
            mt_sink_text(sink, escaped);
        } else {
            mt_sink_put(sink, text, length);
        }
        text += length ? length : 1;
    }
    mt_sink_byte(sink, '"');
}
