/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storages that give their memory back and are given some again, as FSDP's unsharded parameters do
 * for each layer: what a tensor was seen to be before, it is in its next block too.
 */
#ifndef MT_STORAGES_H
#define MT_STORAGES_H

#include "analyzer/support/address-map.h"
#include "heap.h"

struct mt_storages {
    struct mt_address_map by_address; /* of the storage -> place in kept, from 1 */
    struct mt_kept_evidence {
        uint64_t size, elements;
        uint32_t evidence, leaf_stack, name;
        uint8_t dtype;
    } *kept;
    size_t n, capacity;
    uint64_t changes; /* how often something was learned */
};

/* A table of zeros is empty. */
void mt_storages_clear(struct mt_storages *storages);

/* The storage is about to give the block back. 0 or -ENOMEM. */
int mt_storages_empty(struct mt_storages *storages, uint64_t storage,
                      const struct mt_block *block);

/* It was given this one, for so many bytes. */
void mt_storages_fill(const struct mt_storages *storages, uint64_t storage, uint64_t size,
                      struct mt_block *block);

#endif
