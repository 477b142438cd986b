/* SPDX-License-Identifier: Apache-2.0 */
#include "rooms.h"
#include "analyzer/support/grow.h"

#include <stdlib.h>
#include <string.h>

void mt_rooms_clear(struct mt_rooms *rooms)
{
    mt_address_map_clear(&rooms->by_hash);
    free(rooms->room);
    *rooms = (struct mt_rooms){0};
}

static uint64_t hash(const struct mt_room *room)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    return ((room->tokens * factor + room->longest) * factor + room->each) * factor;
}

int mt_rooms_add(struct mt_rooms *rooms, const struct mt_room *room, uint32_t *place)
{
    *place = mt_address_map_get(&rooms->by_hash, hash(room));
    if (*place && !memcmp(&rooms->room[*place - 1], room, sizeof *room))
        return 0;
    if (MT_GROW(rooms->room, rooms->capacity, rooms->n) ||
        mt_address_map_put(&rooms->by_hash, hash(room), (uint32_t)rooms->n + 1))
        return -ENOMEM;
    rooms->room[rooms->n] = *room;
    *place = (uint32_t)++rooms->n;
    return 0;
}

uint64_t mt_room_sequences(const struct mt_room *room)
{
    uint64_t each = room->each ? room->each : room->longest;
    return each ? room->tokens / each : 0;
}
