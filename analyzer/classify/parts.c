/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BITS 48 /* elements; larger numbers mean damage */

void mt_parts_clear(struct mt_parts *parts)
{
    mt_address_map_clear(&parts->by_parameter);
    free(parts->part);
    *parts = (struct mt_parts){0};
}

int mt_parts_add(struct mt_parts *parts, uint64_t parameter, uint64_t block, uint64_t whole)
{
    uint32_t place = mt_address_map_get(&parts->by_parameter, parameter);
    whole = whole >> MOST_BITS ? 0 : whole;
    if (!place) {
        if (MT_GROW(parts->part, parts->capacity, parts->n) ||
            mt_address_map_put(&parts->by_parameter, parameter, (uint32_t)parts->n + 1))
            return -ENOMEM;
        place = (uint32_t)++parts->n;
        parts->part[place - 1] = (struct mt_shard){0};
    }
    struct mt_shard *part = &parts->part[place - 1];
    if (part->block != block || part->whole != whole)
        parts->changes++;
    *part = (struct mt_shard){block, whole};
    return 0;
}

MT_ORDER(by_block, struct mt_shard, MT_RISING(block))

struct mt_shard *mt_parts_in_order(const struct mt_parts *parts, int *rc)
{
    struct mt_shard *copy = parts->n ? malloc(parts->n * sizeof *copy) : NULL;
    *rc = parts->n && !copy ? -ENOMEM : 0;
    if (!copy)
        return NULL;
    memcpy(copy, parts->part, parts->n * sizeof *copy);
    qsort(copy, parts->n, sizeof *copy, by_block);
    return copy;
}

uint64_t mt_parts_whole(const struct mt_shard *in_order, size_t n, uint64_t block)
{
    uint64_t sum = 0;
    size_t low = MT_LEADING(i, n, in_order[i].block < block);
    for (; low < n && in_order[low].block == block; low++)
        sum += in_order[low].whole;
    return sum;
}
