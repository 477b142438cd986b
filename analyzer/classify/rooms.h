/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capacities of KV caches in tokens, as reported by their owners. A growing cache reports for each
 * block; equal reports are kept once.
 */
#ifndef MT_ROOMS_H
#define MT_ROOMS_H

#include "analyzer/support/address-map.h"

struct mt_room {
    uint64_t tokens;
    uint64_t longest; /* tokens of the longest sequence; 0: unknown */
    uint64_t each;    /* capacity used by such a sequence; 0: unknown, tokens is a lower bound */
};

struct mt_rooms {
    struct mt_address_map by_hash; /* hash of its numbers -> index in room, from 1 */
    struct mt_room *room;
    size_t n, capacity;
};

void mt_rooms_clear(struct mt_rooms *rooms);

/* Set *place to the capacity's index, from 1. Return 0 or -ENOMEM. */
int mt_rooms_add(struct mt_rooms *rooms, const struct mt_room *room, uint32_t *place);

/* Return how many of the longest sequences fit at once; 0: unknown. */
uint64_t mt_room_sequences(const struct mt_room *room);

#endif
