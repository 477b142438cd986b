/* SPDX-License-Identifier: Apache-2.0 */
/* Order, and binary search in what is in order. */
#ifndef MT_SEARCH_H
#define MT_SEARCH_H

#include <stddef.h>

/* Return how many of the first `n` indices `i` lead, for which `holds`, an expression of `i`, is
 * true: so the first index for which it is false; n: there is none. */
#define MT_LEADING(i, n, holds)                                                                    \
    ({                                                                                             \
        size_t mt_low = 0, mt_high = (n);                                                          \
        while (mt_low < mt_high) {                                                                 \
            size_t i = mt_low + (mt_high - mt_low) / 2;                                            \
            if (holds)                                                                             \
                mt_low = i + 1;                                                                    \
            else                                                                                   \
                mt_high = i;                                                                       \
        }                                                                                          \
        mt_low;                                                                                    \
    })

/* Return what a comparison of two numbers returns for qsort. */
#define MT_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

#endif
