/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/grow.h"

#include <errno.h>

void mt_places_clear(struct mt_places *places)
{
    free(places->place);
    mt_address_map_clear(&places->by_key);
    *places = (struct mt_places){0};
}

static uint64_t key_of(const struct mt_definitions *definitions, uint32_t stack, uint32_t node_name)
{
    return (uint64_t)mt_stack_place(definitions, stack) << 32 | node_name;
}

static struct mt_place *find(const struct mt_places *places, uint64_t key)
{
    uint32_t index = places->by_key.used ? mt_address_map_get(&places->by_key, key) : 0;
    return index ? &places->place[index - 1] : NULL;
}

static struct mt_place *add(struct mt_places *places, uint64_t key, struct mt_place place)
{
    if (MT_GROW(places->place, places->capacity, places->n) ||
        mt_address_map_put(&places->by_key, key, (uint32_t)places->n + 1))
        return NULL;
    places->place[places->n] = place;
    return &places->place[places->n++];
}

/* Return the place of a block, a new one if need be; NULL: no memory. */
static struct mt_place *place_of(struct mt_places *places, const struct mt_definitions *definitions,
                                 const struct mt_block *block)
{
    uint32_t stack = mt_line_stack(definitions, block);
    uint64_t key = key_of(definitions, stack, block->node_name);
    struct mt_place *place = find(places, key);
    return place
               ? place
               : add(places, key, (struct mt_place){.stack = stack, .node_name = block->node_name});
}

int mt_places_count(struct mt_places *places, const struct mt_definitions *definitions,
                    const struct mt_event *short_lived)
{
    struct mt_place *place =
        place_of(places, definitions, &(struct mt_block){.stack = short_lived->stack});
    if (!place)
        return -ENOMEM;
    place->allocations += short_lived->SHORT_LIVED.blocks;
    return 0;
}

int mt_places_made(struct mt_places *places, const struct mt_definitions *definitions,
                   const struct mt_block *block)
{
    struct mt_place *place = place_of(places, definitions, block);
    if (!place)
        return -ENOMEM;
    place->allocations++;
    place->live += block->size;
    if (place->most < place->live)
        place->most = place->live;
    return 0;
}

void mt_places_ended(struct mt_places *places, const struct mt_definitions *definitions,
                     const struct mt_block *block, bool at_end)
{
    uint32_t stack = mt_line_stack(definitions, block);
    struct mt_place *place = find(places, key_of(definitions, stack, block->node_name));
    if (!place || place->live < block->size) /* the table was cleared since */
        return;
    place->saved += mt_saver_stack(definitions, block) != 0;
    place->phases += mt_block_ended(block)->run - block->birth->when.run;
    if (!at_end)
        place->live -= block->size;
}

int mt_places_add(struct mt_places *places, const struct mt_definitions *definitions,
                  const struct mt_place *place)
{
    uint64_t key = key_of(definitions, place->stack, place->node_name);
    return find(places, key) || add(places, key, *place) ? 0 : -ENOMEM;
}
