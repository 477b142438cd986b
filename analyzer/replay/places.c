/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/model/user-line.h"
#include "analyzer/support/grow.h"
#include "places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

void mt_places_clear(struct mt_places *places)
{
    free(places->place);
    mt_address_map_clear(&places->by_key);
    *places = (struct mt_places){0};
}

static uint64_t key_of(const struct mt_definitions *definitions, uint32_t stack, uint32_t node_name)
{
    return (uint64_t)mt_stack(definitions, stack)->frame << 32 | node_name;
}

static struct mt_place *find(const struct mt_places *places, uint64_t key)
{
    uint32_t index = places->by_key.used ? mt_address_map_get(&places->by_key, key) : 0;
    return index ? &places->place[index - 1] : NULL;
}

static struct mt_place *add(struct mt_places *places, uint64_t key, struct mt_place place)
{
    if (mt_grow(&places->place, &places->capacity, places->n + 1, sizeof *places->place) ||
        mt_address_map_put(&places->by_key, key, (uint32_t)places->n + 1))
        return NULL;
    places->place[places->n] = place;
    return &places->place[places->n++];
}

int mt_places_made(struct mt_places *places, const struct mt_definitions *definitions,
                   const struct mt_block *block)
{
    uint32_t stack = mt_line_stack(definitions, block);
    uint64_t key = key_of(definitions, stack, block->node_name);
    struct mt_place *place = find(places, key);
    if (!place)
        place = add(places, key, (struct mt_place){.stack = stack, .node_name = block->node_name});
    if (!place)
        return -ENOMEM;
    place->allocations++;
    place->live += block->size;
    if (place->most < place->live)
        place->most = place->live;
    return 0;
}

void mt_places_ended(struct mt_places *places, const struct mt_definitions *definitions,
                     const struct mt_block *block, int at_end)
{
    uint32_t stack = mt_line_stack(definitions, block);
    struct mt_place *place = find(places, key_of(definitions, stack, block->node_name));
    if (!place || place->live < block->size) /* the table was begun anew since */
        return;
    place->phases += mt_block_ended(block)->run - block->birth->when.run;
    if (!at_end)
        place->live -= block->size;
}

const struct mt_place *mt_places_find(const struct mt_places *places,
                                      const struct mt_definitions *definitions, uint32_t stack,
                                      uint32_t node_name)
{
    return find(places, key_of(definitions, stack, node_name));
}

/* A number can have 20 digits. */
#define PLACE_TEXT (5u * 21)

size_t mt_places_print(const struct mt_places *places, size_t from, char *out, size_t size)
{
    size_t at = 0;
    *out = '\0';
    for (; from < places->n && at + PLACE_TEXT < size; from++) {
        const struct mt_place *place = &places->place[from];
        at += (size_t)snprintf(
            out + at, size - at, "%" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 ",",
            place->stack, place->node_name, place->allocations, place->most, place->phases);
    }
    return from;
}

int mt_places_parse(struct mt_places *places, const struct mt_definitions *definitions,
                    const char *text)
{
    while (*text) {
        struct mt_place place = {0};
        int length = 0;
        if (sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
                   &place.stack, &place.node_name, &place.allocations, &place.most, &place.phases,
                   &length) != 5 ||
            text[length] != ',')
            return -EINVAL;
        uint64_t key = key_of(definitions, place.stack, place.node_name);
        if (!find(places, key) && !add(places, key, place))
            return -ENOMEM;
        text += length + 1;
    }
    return 0;
}
