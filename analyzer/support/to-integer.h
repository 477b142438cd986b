/* SPDX-License-Identifier: Apache-2.0 */
/* Convert a number of any size to an integer. A plain cast of a number that does not fit is
 * undefined behaviour, and damaged traces may have any number. */
#ifndef MT_ANALYZER_TO_INTEGER_H
#define MT_ANALYZER_TO_INTEGER_H

#include <stdint.h>

/* Round towards 0. Numbers that are too large saturate, and NaN becomes 0. */
static inline int64_t mt_to_int64(double number)
{
    if (number >= 0x1p63)
        return INT64_MAX;
    if (number < -0x1p63)
        return INT64_MIN;
    return number == number ? (int64_t)number : 0;
}

/* Convert as mt_to_int64 does; a negative number becomes 0. */
static inline uint64_t mt_to_uint64(double number)
{
    if (number >= 0x1p64)
        return UINT64_MAX;
    return number > 0 ? (uint64_t)number : 0;
}

#endif
