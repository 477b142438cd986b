/* SPDX-License-Identifier: Apache-2.0 */
#include "equal-sets.h"
#include "analyzer/support/grow.h"

/* A set has almost nothing else, and a block for most of the parameters: a single block may have a
 * parameter's size by chance. */
#define LEAST_PART_MATCHED 0.9
#define LEAST_BLOCKS 2u

/* PyTorch rounds small blocks to 512 bytes; a large one may have up to 1 MiB too much. */
#define LARGE (1u << 20)

void mt_equal_sets_clear(struct mt_equal_sets *copies)
{
    mt_address_map_clear(&copies->sizes);
    mt_address_map_clear(&copies->sites);
    free(copies->site);
    memset(copies, 0, sizeof *copies);
}

static uint64_t size_key(uint64_t size)
{
    return size > LARGE ? size / LARGE << 20 | 1 : size;
}

int mt_equal_sets_add_parameter(struct mt_equal_sets *copies, const struct mt_block *block)
{
    copies->parameters++;
    return mt_address_map_put(&copies->sizes, size_key(block->size), 1);
}

bool mt_equal_sets_has_size(const struct mt_equal_sets *copies, uint64_t size)
{
    if (size <= LARGE)
        return mt_address_map_get(&copies->sizes, size) ||
               mt_address_map_get(&copies->sizes, (size + 511) & ~(uint64_t)511);
    return mt_address_map_get(&copies->sizes, size_key(size)) ||
           mt_address_map_get(&copies->sizes, size_key(size + LARGE)) ||
           mt_address_map_get(&copies->sizes, size_key(size - LARGE));
}

int mt_equal_sets_add(struct mt_equal_sets *copies, const struct mt_block *block,
                      uint32_t site_stack)
{
    uint32_t index = mt_address_map_get(&copies->sites, site_stack);
    if (!site_stack)
        return 0;
    if (!index) {
        if (mt_grow(&copies->site, &copies->capacity, copies->n_sites + 1, sizeof *copies->site))
            return -ENOMEM;
        index = (uint32_t)++copies->n_sites;
        if (mt_address_map_put(&copies->sites, site_stack, index))
            return -ENOMEM;
    }
    struct mt_copy_site *site = &copies->site[index - 1];
    int same = mt_equal_sets_has_size(copies, block->size),
        wider = mt_equal_sets_has_size(copies, block->size / 2);
    site->bytes += block->size;
    site->same += same ? block->size : 0;
    site->wider += wider ? block->size : 0;
    site->blocks += same || wider;
    return 0;
}

enum mt_copy mt_copy_kind(const struct mt_equal_sets *copies, const struct mt_block *block,
                          uint32_t site_stack)
{
    uint32_t index = mt_address_map_get(&copies->sites, site_stack);
    if (!index)
        return MT_NO_COPY;
    const struct mt_copy_site *site = &copies->site[index - 1];
    double least = LEAST_PART_MATCHED * (double)site->bytes;
    if (site->blocks < LEAST_BLOCKS || site->blocks < copies->parameters / 2)
        return MT_NO_COPY;
    if ((double)site->same >= least && mt_equal_sets_has_size(copies, block->size))
        return MT_COPY;
    return (double)site->wider >= least && mt_equal_sets_has_size(copies, block->size / 2)
               ? MT_WIDER_COPY
               : MT_NO_COPY;
}
