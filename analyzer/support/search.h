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

/* Define a comparison for qsort by keys, of which the first that differs counts:
 * MT_ORDER(by_size, struct block, MT_FALLING(size) ?: MT_RISING(address)). The array's elements are
 * of the type, or point to it. */
#define MT_ORDER(name, type, keys)                                                                 \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = left, *b = right;                                                          \
        return keys;                                                                               \
    }
#define MT_ORDER_OF_POINTERS(name, type, keys)                                                     \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *a = *(const type *const *)left, *b = *(const type *const *)right;              \
        return keys;                                                                               \
    }
#define MT_RISING(member) MT_COMPARE(a->member, b->member)
#define MT_FALLING(member) MT_COMPARE(b->member, a->member)
#define MT_BY_TEXT(member) strcmp(a->member, b->member)

#endif
