/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting and binary search. */
#ifndef MT_SEARCH_H
#define MT_SEARCH_H

#include <stdlib.h>
#include <string.h>

/* Return the first of `n` indices `i` for which `holds`, an expression of `i`, is false; n: none.
 * It must be true up to there and false from there on. */
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

/* Compare two numbers for qsort. */
#define MT_COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Define a comparison for qsort by keys, the first of which that differs counts: MT_ORDER(by_size,
 * struct block, MT_FALLING(size) ?: MT_RISING(address)). The array's elements have this type, or
 * point to it. */
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

/* Sort n elements of an array, and merge neighbours for which `same` finds no difference, the later
 * into the earlier. Return how many are left. */
typedef int mt_comparison(const void *left, const void *right);
static inline size_t mt_merge(void *array, size_t n, size_t size, mt_comparison *order,
                              mt_comparison *same, void (*join)(void *into, void *from))
{
    char *last = array, *from = array;
    size_t left = n > 0;
    if (n)
        qsort(array, n, size, order);
    for (size_t i = 1; i < n; i++) {
        from += size;
        if (!same(last, from)) {
            join(last, from);
            continue;
        }
        left++;
        last += size;
        memmove(last, from, size);
    }
    return left;
}

#endif
