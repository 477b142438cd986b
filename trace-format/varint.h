/* SPDX-License-Identifier: Apache-2.0 */
/* Unsigned LEB128 integers and the zigzag map of signed ones (FORMAT.md, "Numbers"). */
#ifndef MT_TRACE_VARINT_H
#define MT_TRACE_VARINT_H

#include "little-endian.h"

#include <errno.h>
#include <stddef.h>

#define MT_VARINT_SIZE 10 /* bytes, at most */

static inline unsigned char *mt_varint_put(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

/* Put a number where at least eight bytes can be written. Only very short and very long numbers
 * branch on their length. */
static inline unsigned char *mt_varint_put_quickly(unsigned char *at, uint64_t value)
{
    const uint64_t more = 0x8080808080808080u;
    if (value < 0x80) {
        *at = (unsigned char)value;
        return at + 1;
    }
    if (value >> 56)
        return mt_varint_put(at, value);
    value = (value & 0x00fffffff0000000u) << 4 | (value & 0x000000000fffffffu);
    value = (value & 0x0fffc0000fffc000u) << 2 | (value & 0x00003fff00003fffu);
    value = (value & 0x3f803f803f803f80u) << 1 | (value & 0x007f007f007f007fu);
    unsigned last = 7 - (unsigned)__builtin_clzll(value) / 8; /* byte */
    mt_put64(at, value | (more & ((1ull << 8 * last) - 1)));
    return at + last + 1;
}

/* Read byte by byte; use mt_varint_get instead. */
static inline const unsigned char *mt_varint_get_slowly(const unsigned char *at,
                                                        const unsigned char *end, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        unsigned char byte = *at++;
        if (shift == 63 && byte > 1)
            return NULL;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = sum;
            return at;
        }
    }
    return NULL;
}

/* Read a number of four to eight bytes, up to the first byte without its top bit. */
static inline const unsigned char *mt_varint_get_long(const unsigned char *at, uint64_t *value)
{
    uint64_t word = mt_get64(at), last = ~word & 0x8080808080808080u;
    if (!last)
        return mt_varint_get_slowly(at, at + MT_VARINT_SIZE, value);
    word &= last ^ (last - 1);
    word = (word & 0x7f007f007f007f00u) >> 1 | (word & 0x007f007f007f007fu);
    word = (word & 0x3fff00003fff0000u) >> 2 | (word & 0x00003fff00003fffu);
    *value = (word & 0x0fffffff00000000u) >> 4 | (word & 0x000000000fffffffu);
    return at + (__builtin_ctzll(last) + 1) / 8;
}

/* Get a number as mt_varint_get does; at least MT_VARINT_SIZE bytes must be readable. Most numbers
 * have up to three bytes: predictable branches let the next number begin early. */
static inline __attribute__((always_inline)) const unsigned char *
mt_varint_get_quickly(const unsigned char *at, uint64_t *value)
{
    if (*at < 0x80) {
        *value = *at;
        return at + 1;
    }
    if (at[1] < 0x80) {
        *value = (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
        return at + 2;
    }
    if (at[2] < 0x80) {
        *value = (at[0] & 0x7fu) | (at[1] & 0x7fu) << 7 | (uint64_t)at[2] << 14;
        return at + 3;
    }
    return mt_varint_get_long(at, value);
}

/* Read a number of [at, end). Return the byte after it; NULL if it is truncated or exceeds 64 bits.
 */
static inline const unsigned char *mt_varint_get(const unsigned char *at, const unsigned char *end,
                                                 uint64_t *value)
{
    return end - at < MT_VARINT_SIZE ? mt_varint_get_slowly(at, end, value)
                                     : mt_varint_get_quickly(at, value);
}

static inline uint64_t mt_zigzag(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t mt_unzigzag(uint64_t coded)
{
    return (coded >> 1) ^ (0 - (coded & 1));
}

/* A position in untrusted bytes. mt_cursor_get reads a number and advances; 0, or -EINVAL if there
 * is none. */
struct mt_cursor {
    const unsigned char *at, *end;
};

static inline int mt_cursor_get(struct mt_cursor *cursor, uint64_t *value)
{
    const unsigned char *next = mt_varint_get(cursor->at, cursor->end, value);
    if (!next)
        return -EINVAL;
    cursor->at = next;
    return 0;
}

static inline int mt_cursor_get32(struct mt_cursor *cursor, uint32_t *value)
{
    uint64_t wide;
    if (mt_cursor_get(cursor, &wide) || wide > UINT32_MAX)
        return -EINVAL;
    *value = (uint32_t)wide;
    return 0;
}

#endif
