/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffered output of an exported file to a descriptor. The first error is kept and later writes are
 * ignored, so that a writer checks once, at the end.
 */
#ifndef MT_SINK_H
#define MT_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MT_SINK_ROOM (1u << 20)

struct mt_sink {
    int fd;
    FILE *file;    /* instead of fd; NULL: none */
    int rc;        /* 0, or the first error as a negative errno */
    uint64_t done; /* bytes that were written before those in room */
    size_t used;
    unsigned char room[MT_SINK_ROOM];
};

/* Flush the buffer. Return sink->rc. */
int mt_sink_flush(struct mt_sink *sink);

/* Write more bytes than fit into the buffer. */
void mt_sink_large(struct mt_sink *sink, const void *bytes, size_t size);

static inline void mt_sink_put(struct mt_sink *sink, const void *bytes, size_t size)
{
    if (size > MT_SINK_ROOM - sink->used) {
        mt_sink_large(sink, bytes, size);
        return;
    }
    if (size)
        memcpy(sink->room + sink->used, bytes, size);
    sink->used += size;
}

static inline void mt_sink_byte(struct mt_sink *sink, unsigned char byte)
{
    if (sink->used == MT_SINK_ROOM)
        mt_sink_flush(sink);
    sink->room[sink->used++] = byte;
}

static inline void mt_sink_text(struct mt_sink *sink, const char *text)
{
    mt_sink_put(sink, text, strlen(text));
}

/* Write a number in decimal. */
void mt_sink_number(struct mt_sink *sink, int64_t number);

/* Write the text as JSON, between quotation marks; what is not UTF-8 becomes U+FFFD. */
void mt_sink_json(struct mt_sink *sink, const char *text);

/* Return the bytes so far. */
static inline uint64_t mt_sink_position(const struct mt_sink *sink)
{
    return sink->done + sink->used;
}

#endif
