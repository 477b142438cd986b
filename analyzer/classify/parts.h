/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of which this process holds a shard: their size over all processes, and the blocks
 * with the shards.
 */
#ifndef MT_PARTS_H
#define MT_PARTS_H

#include "analyzer/support/address-map.h"

struct mt_parts {
    struct mt_address_map by_parameter; /* object address -> index in part, from 1 */
    struct mt_shard {
        uint64_t block; /* its number, mt_block.event */
        uint64_t whole; /* elements */
    } *part;
    size_t n, capacity;
    uint64_t changes; /* number of changes */
};

/* Clear a table. A zeroed table is empty. */
void mt_parts_clear(struct mt_parts *parts);

/* Note that the block with this number holds a shard of the parameter. Return 0 or -ENOMEM. */
int mt_parts_add(struct mt_parts *parts, uint64_t parameter, uint64_t block, uint64_t whole);

/* Return all shards, sorted by their blocks' numbers, to be freed by the caller. NULL: none, or no
 * memory (-ENOMEM in *rc). */
struct mt_shard *mt_parts_in_order(const struct mt_parts *parts, int *rc);

/* Return the elements of the whole parameters whose shards the block holds; 0: unknown. */
uint64_t mt_parts_whole(const struct mt_shard *in_order, size_t n, uint64_t block);

#endif
