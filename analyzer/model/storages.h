/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storages that free their memory and get new memory, as FSDP's unsharded parameters do for each
 * layer. Evidence on the tensor also applies to its next block.
 */
#ifndef MT_STORAGES_H
#define MT_STORAGES_H

#include "analyzer/support/address-map.h"
#include "heap.h"

struct mt_storages {
    struct mt_address_map by_address; /* storage address -> index in kept, from 1 */
    struct mt_kept_evidence {
        uint64_t size, number;
        uint32_t evidence, leaf_stack, name;
        uint8_t dtype;
    } *kept;
    size_t n, capacity;
    uint64_t changes; /* number of changes */
};

/* Clear a table; one of zeros is empty. */
void mt_storages_clear(struct mt_storages *storages);

/* Note that the storage is about to free the block. Return 0 or -ENOMEM. */
int mt_storages_empty(struct mt_storages *storages, uint64_t storage, const struct mt_block *block);

/* Note that the storage got this block for this many bytes. */
void mt_storages_fill(const struct mt_storages *storages, uint64_t storage, uint64_t size,
                      struct mt_block *block);

#endif
