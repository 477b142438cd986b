/* SPDX-License-Identifier: Apache-2.0 */
#include "address-map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define GOLDEN_FACTOR 0x9e3779b97f4a7c15u

void mt_address_map_clear(struct mt_address_map *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

static int move(struct mt_address_map *map, struct mt_address_map to)
{
    to.used = map->used;
    to.slots = calloc(to.capacity, sizeof *to.slots);
    if (!to.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value)
            *mt_address_map_locate(&to, map->slots[i].address) = map->slots[i];
    free(map->slots);
    *map = to;
    return 0;
}

int mt_address_map_enlarge(struct mt_address_map *map)
{
    return move(map,
                (struct mt_address_map){.capacity = map->capacity ? map->capacity * 2 : 64,
                                        .shift = map->capacity ? map->shift - 1 : 58,
                                        .factor = map->capacity ? map->factor : GOLDEN_FACTOR});
}

int mt_address_map_mix(struct mt_address_map *map)
{
    uint64_t factor;
    if (getrandom(&factor, sizeof factor, 0) != sizeof factor)
        factor = map->factor * GOLDEN_FACTOR; /* a different one at least */
    return move(map, (struct mt_address_map){
                         .capacity = map->capacity, .shift = map->shift, .factor = factor | 1});
}

/* Close a gap: a later entry that a search from its home would miss moves into it and leaves the
 * next gap. */
void mt_address_map_close_gap(struct mt_address_map *map, size_t gap)
{
    size_t mask = map->capacity - 1;
    for (size_t i = (gap + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
        size_t from_home = (i - mt_address_map_home(map, map->slots[i].address)) & mask;
        if (from_home < ((i - gap) & mask))
            continue;
        map->slots[gap] = map->slots[i];
        gap = i;
    }
    map->slots[gap].value = 0;
}
