/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protobuf messages into memory. A nested message always has four bytes for its length, so
 * that it is written once (readers accept that). After memory has run out, writes are ignored.
 */
#ifndef MT_PROTO_H
#define MT_PROTO_H

#include "analyzer/support/grow.h"

#include <stdbool.h>

/* Initialize with zeros. */
struct mt_proto {
    unsigned char *bytes;
    size_t n, capacity;
    bool has_no_memory;
};

enum { MT_PROTO_VARINT = 0, MT_PROTO_FIXED64 = 1, MT_PROTO_BYTES = 2 };

static inline unsigned char *mt_proto_room(struct mt_proto *proto, size_t size)
{
    if (proto->capacity - proto->n < size &&
        mt_grow(&proto->bytes, &proto->capacity, proto->n + size, 1)) {
        proto->has_no_memory = true;
        return NULL;
    }
    return proto->bytes + proto->n;
}

static inline void mt_proto_varint(struct mt_proto *proto, uint64_t value)
{
    unsigned char *to = mt_proto_room(proto, 10);
    if (!to)
        return;
    for (; value > 127; value >>= 7)
        *to++ = (unsigned char)(value | 128);
    *to++ = (unsigned char)value;
    proto->n = (size_t)(to - proto->bytes);
}

/* Write a field that is a number. */
static inline void mt_proto_number(struct mt_proto *proto, unsigned field, uint64_t value)
{
    mt_proto_varint(proto, field << 3 | MT_PROTO_VARINT);
    mt_proto_varint(proto, value);
}

static inline void mt_proto_fixed64(struct mt_proto *proto, unsigned field, uint64_t value)
{
    mt_proto_varint(proto, field << 3 | MT_PROTO_FIXED64);
    unsigned char *to = mt_proto_room(proto, sizeof value);
    if (!to)
        return;
    memcpy(to, &value, sizeof value);
    proto->n += sizeof value;
}

static inline void mt_proto_bytes(struct mt_proto *proto, unsigned field, const void *bytes,
                                  size_t size)
{
    mt_proto_varint(proto, field << 3 | MT_PROTO_BYTES);
    mt_proto_varint(proto, size);
    unsigned char *to = mt_proto_room(proto, size);
    if (!to || !size)
        return;
    memcpy(to, bytes, size);
    proto->n += size;
}

static inline void mt_proto_text(struct mt_proto *proto, unsigned field, const char *text)
{
    mt_proto_bytes(proto, field, text, strlen(text));
}

/* Begin a nested message in a field; ended by mt_proto_end. */
static inline size_t mt_proto_begin(struct mt_proto *proto, unsigned field)
{
    mt_proto_varint(proto, field << 3 | MT_PROTO_BYTES);
    if (mt_proto_room(proto, 4))
        proto->n += 4;
    return proto->n;
}

static inline void mt_proto_end(struct mt_proto *proto, size_t begin)
{
    size_t size = proto->n - begin;
    if (proto->has_no_memory || size >= 1u << 28) {
        proto->has_no_memory = true;
        return;
    }
    for (unsigned i = 0; i < 4; i++, size >>= 7)
        proto->bytes[begin - 4 + i] = (unsigned char)((size & 127) | (i < 3 ? 128 : 0));
}

static inline void mt_proto_clear(struct mt_proto *proto)
{
    free(proto->bytes);
    *proto = (struct mt_proto){0};
}

#endif
