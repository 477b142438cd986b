/* SPDX-License-Identifier: Apache-2.0 */
/* Unsigned LEB128 integers and the zigzag map of signed ones (FORMAT.md, "Numbers"). */
#ifndef MT_TRACE_VARINT_H
#define MT_TRACE_VARINT_H

#include <stdint.h>

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

/* Reads one number of [at, end): the byte after it, or NULL where it is cut or over 64 bits. Most
 * have one byte, or two. */
static inline const unsigned char *mt_varint_get(const unsigned char *at, const unsigned char *end,
                                                 uint64_t *value)
{
    uint64_t sum = 0;
    if (end - at >= 2) {
        *value = at[0] & 0x7f;
        if (at[0] < 0x80)
            return at + 1;
        *value |= (uint64_t)at[1] << 7;
        if (at[1] < 0x80)
            return at + 2;
    }
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

static inline uint64_t mt_zigzag(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t mt_unzigzag(uint64_t coded)
{
    return (coded >> 1) ^ (0 - (coded & 1));
}

#endif
