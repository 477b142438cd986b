/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many tokens have room in caches of keys and values, as their makers say. A cache that grows
 * says it again for each block: each answer is here once.
 */
#ifndef MT_ROOMS_H
#define MT_ROOMS_H

#include "analyzer/support/address-map.h"

struct mt_room {
    uint64_t tokens;
    uint64_t longest; /* tokens of the longest sequence; 0: not known */
    uint64_t each;    /* room that such a sequence takes; 0: not known, tokens are the least */
};

struct mt_rooms {
    struct mt_address_map by_hash; /* of its numbers -> place in room, from 1 */
    struct mt_room *room;
    size_t n, capacity;
};

void mt_rooms_clear(struct mt_rooms *rooms);

/* Set *place to the room's, from 1. Return 0 or -ENOMEM. */
int mt_rooms_add(struct mt_rooms *rooms, const struct mt_room *room, uint32_t *place);

/* Return how many of the longest sequences have room at once; 0: not known. */
uint64_t mt_room_sequences(const struct mt_room *room);

#endif
