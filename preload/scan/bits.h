/* SPDX-License-Identifier: Apache-2.0 */
/* Bits in words of 64. */
#ifndef MT_SCAN_BITS_H
#define MT_SCAN_BITS_H

#include <stdbool.h>
#include <stdint.h>

static inline bool mt_bit_has(const uint64_t *bits, uint64_t i)
{
    return bits[i / 64] >> i % 64 & 1;
}

static inline void mt_bit_set(uint64_t *bits, uint64_t i)
{
    bits[i / 64] |= UINT64_C(1) << i % 64;
}

#endif
