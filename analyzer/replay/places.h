/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Over a whole run, per device: the number of blocks that each line of the user's code requested,
 * and its peak of live bytes. Only if the question requests it.
 */
#ifndef MT_PLACES_H
#define MT_PLACES_H

#include "analyzer/model/heap.h"
#include "analyzer/support/address-map.h"
#include "analyzer/trace/definitions.h"

struct mt_place {
    uint32_t stack;     /* a stack whose innermost frame is the line; 0: unknown */
    uint32_t node_name; /* string id of the backward node's type: stack is its forward line */
    uint64_t allocations;
    uint64_t live, most; /* bytes */
    uint64_t phases;     /* changes of phase that blocks lived through, summed over all blocks */
    uint64_t saved;      /* blocks that another line saved for backward, of those that ended */
};

struct mt_places {
    struct mt_place *place;
    size_t n, capacity;
    struct mt_address_map by_key; /* 1 + index */
};

/* Clear a table; one of zeros is empty. */
void mt_places_clear(struct mt_places *places);

/* Note that a block was allocated (return 0 or -ENOMEM); that it has ended, or is live at the
 * trace's end (at_end). */
int mt_places_made(struct mt_places *places, const struct mt_definitions *definitions,
                   const struct mt_block *block);
void mt_places_ended(struct mt_places *places, const struct mt_definitions *definitions,
                     const struct mt_block *block, bool at_end);

/* Count blocks of a stack that a light recording left out. 0 or -ENOMEM. */
int mt_places_count(struct mt_places *places, const struct mt_definitions *definitions,
                    const struct mt_event *short_lived);

/* Add a compact copy's record of a place, if the place is new. 0 or -ENOMEM. */
int mt_places_add(struct mt_places *places, const struct mt_definitions *definitions,
                  const struct mt_place *place);

#endif
