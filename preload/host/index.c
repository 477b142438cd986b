/* SPDX-License-Identifier: Apache-2.0 */
#include "index.h"
#include "memory.h"

#include <errno.h>

#define FIRST_SLOTS 1024u

static void insert(struct mt_index *index, uint64_t slot)
{
    uint32_t at = (uint32_t)(slot >> 32) & index->mask;
    while (index->slot[at])
        at = (at + 1) & index->mask;
    index->slot[at] = slot;
    index->used++;
}

/* Keep at most three quarters of the slots in use. Return 0 or -ENOMEM. */
static int make_room(struct mt_index *index)
{
    uint32_t slots = index->slot ? index->mask + 1 : 0;
    if (index->used < slots / 4 * 3)
        return 0;
    struct mt_index larger = {.mask = slots ? 2 * slots - 1 : FIRST_SLOTS - 1};
    larger.slot = mt_map(((size_t)larger.mask + 1) * sizeof *larger.slot);
    if (!larger.slot)
        return -ENOMEM;
    for (uint32_t i = 0; i < slots; i++)
        if (index->slot[i])
            insert(&larger, index->slot[i]);
    mt_unmap(index->slot, slots * sizeof *index->slot);
    *index = larger;
    return 0;
}

int mt_index_add(struct mt_index *index, uint64_t hash, uint32_t id)
{
    if (make_room(index))
        return -ENOMEM;
    insert(index, (uint64_t)(uint32_t)(hash ^ hash >> 32) << 32 | id);
    return 0;
}

void mt_index_reset(struct mt_index *index)
{
    mt_unmap(index->slot, ((size_t)index->mask + 1) * sizeof *index->slot);
    *index = (struct mt_index){0};
}
