/* SPDX-License-Identifier: Apache-2.0 */
#include "storages.h"

/* Evidence on a tensor itself, not on one of its blocks. */
#define LASTING                                                                                    \
    (MT_SAW_PARAMETER | MT_SAW_BUFFER | MT_SAW_SET_DATA | MT_SAW_LEAF | MT_SAW_LEAF_AGAIN |        \
     MT_SAW_LEAF_OF_GRAPH | MT_SAW_STEPPED | MT_SAW_STATE | MT_SAW_MODULES_BUFFER |                \
     MT_SAW_MODULES_PARAMETER)

void mt_storages_clear(struct mt_storages *storages)
{
    mt_address_map_clear(&storages->by_address);
    free(storages->kept);
    *storages = (struct mt_storages){0};
}

/* Return whether the storage had this size. PyTorch's allocator leaves less than 1 MiB unused in a
 * block, and can be configured to round to powers of two. */
static bool had_that_size(const struct mt_kept_evidence *kept, uint64_t size)
{
    return size <= kept->size && kept->size / 2 <= size + (1u << 20);
}

/* Empty a storage; one of another size may be at the address now. */
int mt_storages_empty(struct mt_storages *storages, uint64_t storage, const struct mt_block *block)
{
    uint32_t evidence = block->evidence & LASTING;
    if (!evidence && !mt_address_map_get(&storages->by_address, storage))
        return 0;
    uint32_t place = MT_PLACE_OF(&storages->by_address, storage, storages->kept, storages->capacity,
                                 storages->n);
    if (!place)
        return -ENOMEM;
    struct mt_kept_evidence *kept = &storages->kept[place - 1];
    if (kept->evidence == evidence && had_that_size(kept, block->size))
        return 0;
    *kept = (struct mt_kept_evidence){.size = block->size,
                                      .number = block->number,
                                      .evidence = evidence,
                                      .leaf_stack = block->leaf_stack,
                                      .name = block->name,
                                      .dtype = block->dtype};
    storages->changes++;
    return 0;
}

void mt_storages_fill(const struct mt_storages *storages, uint64_t storage, uint64_t size,
                      struct mt_block *block)
{
    uint32_t place = mt_address_map_get(&storages->by_address, storage);
    const struct mt_kept_evidence *kept = place ? &storages->kept[place - 1] : NULL;
    if (!kept || !had_that_size(kept, size))
        return;
    block->evidence |= kept->evidence;
    block->number = kept->number;
    block->leaf_stack = kept->leaf_stack;
    block->name = kept->name;
    block->dtype = kept->dtype;
}
