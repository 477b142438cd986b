/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from addresses to small numbers, with open addressing, linear probing, and deletion
 * by backward shift. Every 64-bit address is a valid key.
 */
#ifndef MT_ADDRESS_MAP_H
#define MT_ADDRESS_MAP_H

#include "grow.h"
#include "trace-format/likely.h"

struct mt_address_map {
    struct mt_address_slot {
        uint64_t address;
        uint32_t value; /* 0: the slot is free */
    } *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t used;
    unsigned shift;  /* 64 - log2(capacity) */
    uint64_t factor; /* odd; replaced if addresses collide on purpose */
};

/* Longer runs almost never occur by chance in a half-full table. */
#define MT_ADDRESS_MAP_RUN 512u

/* Fibonacci hashing: addresses are multiples of 512 and more, which the product's high bits mix. */
static inline size_t mt_address_map_home(const struct mt_address_map *map, uint64_t address)
{
    return (size_t)((address * map->factor) >> map->shift);
}

/* Clear a map. A zeroed map is empty. */
void mt_address_map_clear(struct mt_address_map *map);

/* Return the slot of the address, or the free slot where it would go. At most half of the slots are
 * used, so there is always a free one. */
static inline struct mt_address_slot *mt_address_map_locate(const struct mt_address_map *map,
                                                            uint64_t address)
{
    size_t i = mt_address_map_home(map, address);
    while (map->slots[i].value && map->slots[i].address != address)
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

/* Return the value at an address; 0: none. */
static inline uint32_t mt_address_map_get(const struct mt_address_map *map, uint64_t address)
{
    return map->capacity ? mt_address_map_locate(map, address)->value : 0;
}

/* Prefetch the slot of an address that will be searched soon. */
static inline void mt_address_map_expect(const struct mt_address_map *map, uint64_t address)
{
    if (map->capacity)
        __builtin_prefetch(&map->slots[mt_address_map_home(map, address)]);
}

/* Make room for more. 0 or -ENOMEM. */
int mt_address_map_enlarge(struct mt_address_map *map);

/* Rehash everything by a random factor. 0 or -ENOMEM. */
int mt_address_map_mix(struct mt_address_map *map);

/* Empty a slot that is not the last of a run. */
void mt_address_map_close_gap(struct mt_address_map *map, size_t gap);

/* Set a value, not 0. 0 or -ENOMEM. */
static inline int mt_address_map_put(struct mt_address_map *map, uint64_t address, uint32_t value)
{
    if ((map->used + 1) * 2 > map->capacity && mt_address_map_enlarge(map))
        return -ENOMEM;
    struct mt_address_slot *slot = mt_address_map_locate(map, address);
    size_t run =
        ((size_t)(slot - map->slots) - mt_address_map_home(map, address)) & (map->capacity - 1);
    map->used += slot->value == 0;
    slot->address = address;
    slot->value = value;
    return MT_UNLIKELY(run > MT_ADDRESS_MAP_RUN) ? mt_address_map_mix(map) : 0;
}

/* Remove an address. Return its value, 0: there was none. */
static inline uint32_t mt_address_map_take(struct mt_address_map *map, uint64_t address)
{
    if (!map->capacity)
        return 0;
    struct mt_address_slot *slot = mt_address_map_locate(map, address);
    uint32_t value = slot->value;
    if (!value)
        return 0;
    size_t at = (size_t)(slot - map->slots);
    map->used--;
    if (map->slots[(at + 1) & (map->capacity - 1)].value)
        mt_address_map_close_gap(map, at);
    else
        slot->value = 0;
    return value;
}

/* Return a key's index, from 1, in an array of n elements (grow.h). A new key gets the next, zeroed
 * element. 0: no memory. */
static inline uint32_t mt_place_of(struct mt_address_map *map, uint64_t key, void *array,
                                   size_t *capacity, size_t *n, size_t size)
{
    uint32_t place = mt_address_map_get(map, key);
    if (place)
        return place;
    return mt_grow(array, capacity, *n + 1, size) || mt_address_map_put(map, key, (uint32_t)*n + 1)
               ? 0
               : (uint32_t)++ * n;
}
#define MT_PLACE_OF(map, key, array, capacity, n)                                                  \
    mt_place_of(map, key, &(array), &(capacity), &(n), sizeof *(array))

#endif
