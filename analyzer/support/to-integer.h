/* SPDX-License-Identifier: Apache-2.0 */
/* A number of any size as an integer. A plain cast of what does not fit is undefined: what damaged
 * traces say may be any number, and sums and products of it larger ones. */
#ifndef MT_ANALYZER_TO_INTEGER_H
#define MT_ANALYZER_TO_INTEGER_H

#include <stdint.h>

/* Towards 0; what is too large is the largest integer, and what is no number is 0. */
static inline int64_t mt_to_int64(double number)
{
    if (number >= 0x1p63)
        return INT64_MAX;
    if (number < -0x1p63)
        return INT64_MIN;
    return number == number ? (int64_t)number : 0;
}

/* As mt_to_int64; what is negative is 0. */
static inline uint64_t mt_to_uint64(double number)
{
    if (number >= 0x1p64)
        return UINT64_MAX;
    return number > 0 ? (uint64_t)number : 0;
}

#endif
