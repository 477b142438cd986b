/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays, as a pointer, a count and a capacity in the owner's struct.
 */
#ifndef MT_GROW_H
#define MT_GROW_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Make room for `need` elements of `size` bytes in *array (realloc'ed; new elements are zeroed).
 * Return 0, or -ENOMEM with nothing changed. */
static inline int mt_grow(void *array, size_t *capacity, size_t need, size_t size)
{
    void *old, *bytes;
    if (need <= *capacity)
        return 0;
    size_t more = *capacity ? *capacity : 16;
    while (more < need)
        more *= 2;
    memcpy(&old, array, sizeof old);
    bytes = reallocarray(old, more, size);
    if (!bytes)
        return -ENOMEM;
    memset((char *)bytes + *capacity * size, 0, (more - *capacity) * size);
    memcpy(array, &bytes, sizeof bytes);
    *capacity = more;
    return 0;
}

/* Make room for one more after n elements of an array. */
#define MT_GROW(array, capacity, n) mt_grow(&(array), &(capacity), (n) + 1, sizeof *(array))

/* Append a value to n elements. Return 0 or -ENOMEM. */
#define MT_APPEND(array, capacity, n, ...)                                                         \
    (MT_GROW(array, capacity, n) ? -ENOMEM : ((array)[(n)++] = __VA_ARGS__, 0))

/* Return an index, from 1, into an array of n elements whose element 0 is unused: the first of the
 * free list (linked by member `next`), or a new one. 0: no memory. */
#define MT_TAKE_PLACE(array, capacity, n, first_free, next)                                        \
    ({                                                                                             \
        uint32_t mt_place = (first_free);                                                          \
        if (mt_place)                                                                              \
            (first_free) = (uint32_t)(array)[mt_place].next;                                       \
        else if ((n) < UINT32_MAX - 1 && !MT_GROW(array, capacity, (n) ? (n) : 1))                 \
            (n) = 1 + (mt_place = (n) ? (uint32_t)(n) : 1);                                        \
        mt_place;                                                                                  \
    })

#endif
