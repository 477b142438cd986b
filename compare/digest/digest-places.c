/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/search.h"
#include "digest-maker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mt_digest_place_order(const void *left, const void *right)
{
    const struct mt_digest_place *a = left, *b = right;
    return MT_BY_TEXT(file) ?: MT_BY_TEXT(function) ?: MT_RISING(line) ?: MT_BY_TEXT(operator_name);
}

static void join(void *into, void *from)
{
    struct mt_digest_place *place = into, *other = from;
    place->allocations += other->allocations;
    place->most_bytes += other->most_bytes;
    place->phases += other->phases;
    place->saved += other->saved;
    mt_digest_place_clear(other);
}

void mt_digest_places_merge(struct mt_digest_device *to)
{
    to->n_places = mt_merge(to->place, to->n_places, sizeof *to->place, mt_digest_place_order,
                            mt_digest_place_order, join);
}

int mt_maker_places(const struct mt_digest_maker *taker, struct mt_digest_device *to,
                    const struct mt_places *places)
{
    to->place = calloc(places->n + 1, sizeof *to->place);
    for (size_t i = 0; to->place && i < places->n; i++) {
        const struct mt_place *from = &places->place[i];
        struct mt_digest_place *place = &to->place[to->n_places++];
        *place = (struct mt_digest_place){.allocations = from->allocations,
                                          .most_bytes = from->most,
                                          .phases = from->phases,
                                          .saved = from->saved};
        place->operator_name = mt_maker_operator(taker, from->node_name);
        if (mt_maker_line(taker, from->stack, &place->function, &place->file, &place->line) ||
            !place->operator_name)
            return -ENOMEM;
    }
    if (!to->place)
        return -ENOMEM;
    mt_digest_places_merge(to);
    return 0;
}

void mt_count_whole_run(struct mt_digest_device *to)
{
    for (size_t i = 0; i < to->n_sites; i++) {
        struct mt_digest_site *site = &to->site[i];
        struct mt_digest_place key = {site->function, site->file, site->line, site->operator_name};
        const struct mt_digest_place *place =
            bsearch(&key, to->place, to->n_places, sizeof *to->place, mt_digest_place_order);
        if (place) {
            site->allocations = place->allocations;
            site->most_bytes = place->most_bytes;
        }
    }
}
