/* SPDX-License-Identifier: Apache-2.0 */
#include "extents.h"
#include "analyzer/support/grow.h"

#define LEAST_BLOCK 512u
#define SMALL_REST (1u << 20) /* what is left of a large-pool block is split off if larger */

static uint64_t address_of(const void *owner, uint32_t number)
{
    return ((const struct mt_extents *)owner)->extent[number].address;
}

static struct mt_ordered_keys keys_of(const struct mt_extents *extents)
{
    return (struct mt_ordered_keys){address_of, extents};
}

void mt_extents_clear(struct mt_extents *extents)
{
    free(extents->extent);
    mt_ordered_clear(&extents->order);
    mt_address_map_clear(&extents->by_address);
    *extents = (struct mt_extents){0};
}

int mt_extents_add(struct mt_extents *extents, const struct mt_import_extent *extent)
{
    if (mt_address_map_get(&extents->by_address, extent->address))
        return -EEXIST;
    uint32_t number =
        MT_TAKE_PLACE(extents->extent, extents->capacity, extents->n, extents->first_free, tag);
    if (!number)
        return -ENOMEM;
    extents->extent[number] = *extent;
    int rc = mt_address_map_put(&extents->by_address, extent->address, number);
    return rc ? rc : mt_ordered_put(&extents->order, keys_of(extents), number);
}

struct mt_import_extent *mt_extents_at(const struct mt_extents *extents, uint64_t address)
{
    uint32_t number = mt_address_map_get(&extents->by_address, address);
    return number ? &extents->extent[number] : NULL;
}

static struct mt_import_extent *extents_below(const struct mt_extents *extents, uint64_t address)
{
    uint32_t number;
    return mt_ordered_below(&extents->order, keys_of(extents), address, &number)
               ? &extents->extent[number]
               : NULL;
}

void mt_extents_remove(struct mt_extents *extents, uint64_t address)
{
    uint32_t number = mt_address_map_get(&extents->by_address, address);
    if (!number)
        return;
    mt_ordered_remove(&extents->order, keys_of(extents), address);
    mt_address_map_take(&extents->by_address, address);
    extents->extent[number].tag = extents->first_free;
    extents->first_free = number;
}

/* Return where the first block within (from, to) begins, or `to` if there is none. Large-pool
 * blocks are large, so there are one or two; more would not be PyTorch's. */
static uint64_t next_block(const struct mt_extents *blocks, uint64_t from, uint64_t to)
{
    const struct mt_import_extent *last = extents_below(blocks, to - 1);
    for (int i = 0; i < 64 && last && last->address > from; i++) {
        to = last->address;
        last = extents_below(blocks, to - 1);
    }
    return to;
}

uint64_t mt_block_bytes(const struct mt_extents *segments, const struct mt_extents *blocks,
                        uint64_t address, uint64_t requested)
{
    uint64_t rounded = requested < LEAST_BLOCK
                           ? LEAST_BLOCK
                           : (requested + LEAST_BLOCK - 1) & ~(uint64_t)(LEAST_BLOCK - 1);
    const struct mt_import_extent *segment = extents_below(segments, address);
    if (!segment || segment->is_pages || segment->is_small ||
        address + rounded > segment->address + segment->size)
        return rounded;
    uint64_t end = segment->address + segment->size;
    if (end - address - rounded >
        SMALL_REST) /* decided by the blocks that follow within the remainder's reach */
        end = address + rounded + SMALL_REST + 1;
    end = next_block(blocks, address, end);
    return end - address >= rounded && end - address - rounded <= SMALL_REST ? end - address
                                                                             : rounded;
}
