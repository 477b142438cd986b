/* SPDX-License-Identifier: Apache-2.0 */
#include "equal-sets.h"
#include "trace-format/dtypes.h"

/* A set has hardly other blocks, and one for most parameters: a few blocks may have parameters'
 * sizes by chance. */
#define LEAST_PART_MATCHED 0.9
#define LEAST_PART_OF_PARAMETERS 0.75
#define LEAST_BLOCKS 2u

/* PyTorch rounds small blocks to 512 bytes; a large one may have up to 1 MiB of slack. */
#define LARGE (1u << 20)

void mt_equal_sets_clear(struct mt_equal_sets *copies)
{
    mt_address_map_clear(&copies->sizes);
    mt_address_map_clear(&copies->narrow);
    mt_address_map_clear(&copies->together);
    mt_address_map_clear(&copies->sites);
    mt_address_map_clear(&copies->made);
    free(copies->site);
    memset(copies, 0, sizeof *copies);
}

static uint64_t size_key(uint64_t size)
{
    return size > LARGE ? size / LARGE << 20 | 1 : size;
}

/* Return the key of the parameters of about this size; 0: none. */
static uint64_t find_size(const struct mt_address_map *sizes, uint64_t size)
{
    const uint64_t key = size_key(size);
    const uint64_t small[] = {key, (key + 511) & ~(uint64_t)511, 0};
    const uint64_t large[] = {key, key + LARGE, key - LARGE};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        uint64_t at = size > LARGE ? large[i] : small[i];
        if (mt_address_map_get(sizes, at))
            return at;
    }
    return 0;
}

static int count(struct mt_address_map *map, uint64_t key)
{
    return mt_address_map_put(map, key, mt_address_map_get(map, key) + 1);
}

/* Return the key of a table's blocks of one size and origin: a generation or a site. */
static uint64_t key_of(uint64_t size, uint32_t maker)
{
    return size ^ maker * UINT64_C(0x9e3779b97f4a7c15);
}

int mt_equal_sets_add_parameter(struct mt_equal_sets *copies, const struct mt_block *block,
                                uint32_t generation)
{
    uint64_t size = size_key(block->size), key = key_of(size, generation);
    if (count(&copies->together, key))
        return -ENOMEM;
    if (mt_address_map_get(&copies->together, key) <= mt_address_map_get(&copies->sizes, size))
        return 0;
    copies->parameters++;
    if (mt_dtype_bits(block->dtype) < 32 && count(&copies->narrow, size))
        return -ENOMEM;
    return count(&copies->sizes, size);
}

bool mt_equal_sets_has_size(const struct mt_equal_sets *copies, uint64_t size)
{
    return find_size(&copies->sizes, size) != 0;
}

static uint64_t site_key(const struct mt_block *block, uint32_t stack)
{
    return (uint64_t)block->birth->when.backwards << 32 | stack;
}

/* Count a block of a parameter's size: each parameter needs one. 0 or -ENOMEM. */
static int match(struct mt_equal_sets *copies, uint32_t index, uint64_t size_found)
{
    uint64_t key = key_of(size_found, index);
    uint32_t made = mt_address_map_get(&copies->made, key);
    copies->site[index - 1].parameters += made < mt_address_map_get(&copies->sizes, size_found);
    return mt_address_map_put(&copies->made, key, made + 1);
}

int mt_equal_sets_add(struct mt_equal_sets *copies, const struct mt_block *block,
                      uint32_t site_stack)
{
    if (!site_stack)
        return 0;
    uint32_t index = MT_PLACE_OF(&copies->sites, site_key(block, site_stack), copies->site,
                                 copies->capacity, copies->n_sites);
    if (!index)
        return -ENOMEM;
    struct mt_copy_site *site = &copies->site[index - 1];
    uint64_t same = find_size(&copies->sizes, block->size),
             wider = find_size(&copies->narrow, block->size / 2);
    site->bytes += block->size;
    site->same += same ? block->size : 0;
    site->wider += wider ? block->size : 0;
    return same || wider ? match(copies, index, same ? same : wider) : 0;
}

enum mt_copy mt_copy_kind(const struct mt_equal_sets *copies, const struct mt_block *block,
                          uint32_t site_stack)
{
    uint32_t index = mt_address_map_get(&copies->sites, site_key(block, site_stack));
    if (!index)
        return MT_NO_COPY;
    const struct mt_copy_site *site = &copies->site[index - 1];
    double least = LEAST_PART_MATCHED * (double)site->bytes;
    if (site->parameters < LEAST_BLOCKS ||
        (double)site->parameters < LEAST_PART_OF_PARAMETERS * (double)copies->parameters)
        return MT_NO_COPY;
    if ((double)site->same >= least && find_size(&copies->sizes, block->size))
        return MT_COPY;
    return (double)site->wider >= least && find_size(&copies->narrow, block->size / 2)
               ? MT_WIDER_COPY
               : MT_NO_COPY;
}
