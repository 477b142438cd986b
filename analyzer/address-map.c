/* SPDX-License-Identifier: Apache-2.0 */
#include "address-map.h"

#include <stdlib.h>
#include <string.h>

void mt_address_map_clear(struct mt_address_map *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

int mt_address_map_enlarge(struct mt_address_map *map)
{
    struct mt_address_map larger = {.capacity = map->capacity ? map->capacity * 2 : 64,
                                    .shift = map->capacity ? map->shift - 1 : 58,
                                    .used = map->used};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value)
            *mt_address_map_locate(&larger, map->slots[i].address) = map->slots[i];
    free(map->slots);
    *map = larger;
    return 0;
}

/* An entry further on that a search from its home would not reach any
 * more moves into it, which makes the next gap. */
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
