/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of PyTorch that receive lists of tensors by value. Only the lists' first places are
 * filled in; the others have what was on the host's stack, often addresses of earlier launches. */
#ifndef MT_USES_FILLED_H
#define MT_USES_FILLED_H

#include <stddef.h>
#include <stdint.h>

/* How a kernel's lists lie in a parameter, from its name; all 0: it has none. */
struct mt_filled {
    uint8_t parameter;
    uint8_t counted; /* enum in filled.c */
    uint8_t rows;    /* of addresses, one after the other */
    uint8_t unit;    /* bytes of a tensor in all rows */
};

struct mt_filled mt_filled_of(const char *name);

/* Find where addresses are in such a parameter: *rows rows, *stride bytes apart. Return how many
 * each begins with; 0: not known, so anything in it may be one. */
uint32_t mt_filled_count(const struct mt_filled *filled, const char *parameter, size_t size,
                         const unsigned grid[3], unsigned *rows, size_t *stride);

#endif
