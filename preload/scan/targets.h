/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks whose addresses are searched for, by address. */
#ifndef MT_SCAN_TARGETS_H
#define MT_SCAN_TARGETS_H

#include <stdint.h>

struct mt_pointed {
    uint64_t address, size;
    int32_t device;
};

struct mt_address_range {
    uint64_t low, span;
};

#define MT_NO_TARGET UINT32_MAX

struct mt_targets {
    struct mt_address_range all;
    uint32_t n;
    unsigned shift;
    uint64_t *filter; /* bits: pieces of 1 << shift bytes that have blocks */
    struct mt_pointed_range {
        uint64_t begin, end;
        uint32_t block;
    } target[];
};

/* Sort blocks. Return NULL if there is no memory. */
struct mt_targets *mt_targets_create(const struct mt_pointed *blocks, uint32_t n);

/* Return the number of the block that an address is in, or MT_NO_TARGET. */
uint32_t mt_target_with(const struct mt_targets *targets, uint64_t address);

#endif
