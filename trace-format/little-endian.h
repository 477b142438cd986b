/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in files are little-endian and may be unaligned. Compilers turn each function into one
 * load or store. */
#ifndef MT_TRACE_LITTLE_ENDIAN_H
#define MT_TRACE_LITTLE_ENDIAN_H

#include <stdint.h>

static inline uint16_t mt_get16(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint64_t mt_get64(const unsigned char *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

static inline void mt_put64(unsigned char *at, uint64_t value)
{
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
    at[2] = (unsigned char)(value >> 16);
    at[3] = (unsigned char)(value >> 24);
    at[4] = (unsigned char)(value >> 32);
    at[5] = (unsigned char)(value >> 40);
    at[6] = (unsigned char)(value >> 48);
    at[7] = (unsigned char)(value >> 56);
}

static inline void mt_put16(unsigned char *at, uint16_t value)
{
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
}

#endif
