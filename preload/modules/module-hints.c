/* SPDX-License-Identifier: Apache-2.0 */
#include "module-hints.h"
#include "preload/host/memory.h"
#include "preload/record/cache.h"

#include <stdbool.h>
#include <string.h>

#define FIRST_HINTS 4096u
#define MOST_HINTS (1u << 18) /* 6 MiB */
#define PROBES 8u
#define DICTS 256u

static struct {
    struct mt_module_hint *hint;
    uint32_t size; /* a power of two */
    struct {
        uint64_t dict;
        uint32_t next;
    } dict[DICTS];
} hints;

/* Return the child's own place, an empty one, or its home place, which another child has: then
 * *is_full. */
static struct mt_module_hint *place_of(uint64_t child, bool *is_full)
{
    uint64_t home = mt_mix(0, child);
    struct mt_module_hint *place;
    *is_full = false;
    for (unsigned probe = 0; probe < PROBES; probe++) {
        place = &hints.hint[(home + probe) % hints.size];
        if (!place->child || place->child == child)
            return place;
    }
    *is_full = true;
    return &hints.hint[home % hints.size];
}

/* Double the table if there is memory. Return 1 if it has grown. */
static int grow(void)
{
    struct mt_module_hint *old = hints.hint;
    uint32_t size = hints.size, larger = size ? 2 * size : FIRST_HINTS;
    bool is_full;
    struct mt_module_hint *table = larger <= MOST_HINTS ? mt_map(larger * sizeof *table) : NULL;
    if (!table)
        return 0;
    hints.hint = table;
    hints.size = larger;
    for (uint32_t i = 0; i < size; i++)
        if (old[i].child)
            *place_of(old[i].child, &is_full) = old[i];
    mt_unmap(old, size * sizeof *old);
    return 1;
}

void mt_module_hint(uint64_t child, uint64_t owner, uint32_t at)
{
    bool is_full;
    if (!child || (!hints.hint && !grow()))
        return;
    struct mt_module_hint *place = place_of(child, &is_full);
    if (is_full && grow())
        place = place_of(child, &is_full);
    if (place->child != child || place->owner != owner) /* the first of several names stays */
        *place = (struct mt_module_hint){child, owner, at};
}

const struct mt_module_hint *mt_module_hint_of(uint64_t child)
{
    bool is_full;
    const struct mt_module_hint *place = hints.hint ? place_of(child, &is_full) : NULL;
    return place && place->child == child ? place : NULL;
}

uint32_t *mt_module_next_child(uint64_t dict)
{
    unsigned i = (unsigned)mt_mix(0, dict) % DICTS;
    if (hints.dict[i].dict != dict) {
        hints.dict[i].dict = dict;
        hints.dict[i].next = 0;
    }
    return &hints.dict[i].next;
}

void mt_module_hints_reset(void)
{
    mt_unmap(hints.hint, hints.size * sizeof *hints.hint);
    memset(&hints, 0, sizeof hints);
}
