/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations grouped by their whole stack, from the user's frame on. */
#ifndef MT_ORIGINS_H
#define MT_ORIGINS_H

#include "analyzer/support/address-map.h"
#include "heap.h"

struct mt_origin {
    uint64_t bytes, blocks;
    uint32_t stack; /* 0: unknown */
};

/* Origins of zeros are empty. */
struct mt_origins {
    struct mt_origin *origin;
    size_t n, capacity;
    uint64_t bytes, blocks; /* in all */
    struct mt_address_map by_stack;
};

/* Add one allocation. 0 or -ENOMEM. */
int mt_origins_add(struct mt_origins *origins, uint32_t stack, uint64_t bytes);

/* Sort, the largest first. Call once, after the last addition. */
void mt_origins_sort(struct mt_origins *origins);

void mt_origins_clear(struct mt_origins *origins);

#endif
