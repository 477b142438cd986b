/* SPDX-License-Identifier: Apache-2.0 */
#include "dict-deaths.h"
#include "type-dealloc.h"

#include <stdatomic.h>
#include <stddef.h>

#define SETS 2048u
#define WAYS 8u

/* Watched dicts by address; 0: free. */
static struct place {
    _Atomic uint64_t dict, deaths;
} places[SETS][WAYS];

static mt_dealloc *real_free;

static struct place *set_of(uint64_t dict)
{
    return places[(dict >> 4 ^ dict >> 15) % SETS];
}

static struct place *find(uint64_t dict, uint64_t wanted)
{
    struct place *set = set_of(dict);
    for (unsigned i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&set[i].dict, memory_order_relaxed) == wanted)
            return &set[i];
    return NULL;
}

static void give_up(struct place *place)
{
    atomic_fetch_add_explicit(&place->deaths, 1, memory_order_relaxed);
    atomic_store_explicit(&place->dict, 0, memory_order_release);
}

static void notice_and_free(void *dict)
{
    uint64_t address = (uint64_t)(uintptr_t)dict;
    struct place *place = find(address, address);
    if (place)
        give_up(place);
    real_free(dict);
}

void mt_dict_deaths_start(const void *type)
{
    (void)mt_dealloc_replace(type, notice_and_free, &real_free); /* otherwise nothing is watched */
}

const _Atomic uint64_t *mt_dict_deaths_watch(uint64_t dict)
{
    static unsigned turns;
    if (!real_free)
        return NULL;
    struct place *place = find(dict, dict);
    if (!place && !(place = find(dict, 0))) {
        place = &set_of(dict)[turns++ % WAYS];
        give_up(place);
    }
    atomic_store_explicit(&place->dict, dict, memory_order_release);
    return &place->deaths;
}
