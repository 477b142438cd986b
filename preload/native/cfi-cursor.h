/* SPDX-License-Identifier: Apache-2.0 */
/* Read DWARF: numbers from bounded memory. Past its end they are 0, and `failed` is set. */
#ifndef MT_PRELOAD_CFI_CURSOR_H
#define MT_PRELOAD_CFI_CURSOR_H

#include <stdint.h>
#include <string.h>

struct mt_cfi_cursor {
    const uint8_t *at, *end;
    int failed;
};

static inline uint64_t mt_cfi_read(struct mt_cfi_cursor *cursor, unsigned bytes)
{
    uint64_t value = 0;
    if ((uint64_t)(cursor->end - cursor->at) < bytes) {
        cursor->failed = 1;
        cursor->at = cursor->end;
        return 0;
    }
    memcpy(&value, cursor->at, bytes);
    cursor->at += bytes;
    return value;
}

static inline int64_t mt_cfi_read_signed(struct mt_cfi_cursor *cursor, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(mt_cfi_read(cursor, bytes) << shift) >> shift;
}

/* Read a number. *bits gets the number's bits, a multiple of 7; bits beyond 64 are dropped. */
static inline uint64_t mt_cfi_read_leb(struct mt_cfi_cursor *cursor, unsigned *bits)
{
    uint64_t value = 0, byte;
    *bits = 0;
    do {
        byte = mt_cfi_read(cursor, 1);
        if (*bits < 64)
            value |= (byte & 127) << *bits;
        *bits += 7;
    } while (byte & 128);
    return value;
}

static inline uint64_t mt_cfi_read_uleb(struct mt_cfi_cursor *cursor)
{
    unsigned bits;
    return mt_cfi_read_leb(cursor, &bits);
}

static inline int64_t mt_cfi_read_sleb(struct mt_cfi_cursor *cursor)
{
    unsigned bits;
    uint64_t value = mt_cfi_read_leb(cursor, &bits);
    if (bits < 64 && value >> (bits - 1) & 1)
        value |= ~(uint64_t)0 << bits;
    return (int64_t)value;
}

/* Split off the next `bytes` as a cursor of their own. */
static inline struct mt_cfi_cursor mt_cfi_read_part(struct mt_cfi_cursor *cursor, uint64_t bytes)
{
    if ((uint64_t)(cursor->end - cursor->at) < bytes) {
        cursor->failed = 1;
        bytes = 0;
    }
    struct mt_cfi_cursor part = {cursor->at, cursor->at + bytes, cursor->failed};
    cursor->at += bytes;
    return part;
}

#endif
