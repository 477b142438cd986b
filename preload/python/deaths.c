/* SPDX-License-Identifier: Apache-2.0 */
#include "deaths.h"
#include "preload/host/safe-read.h"
#include "trace-format/likely.h"

#include <errno.h>
#include <stddef.h>

#define TYPE_DEALLOC 48 /* bytes: PyTypeObject.tp_dealloc, in all versions */

typedef void dealloc(void *object);

/* Install ours once, also for forked children. *real, NULL at first, gets the function that ours
 * must call. Return 0, or -EFAULT if the type's memory is read-only. */
static int replace(const void *type, dealloc *ours, dealloc **real)
{
    dealloc *_Atomic *slot = (void *)((uintptr_t)type + TYPE_DEALLOC);
    if (*real)
        return 0;
    dealloc *found = type ? atomic_load(slot) : NULL;
    if (!found || mt_safe_write(slot, &found, sizeof found))
        return -EFAULT;
    *real = found;
    atomic_store(slot, ours);
    return 0;
}

/* --- code ---------------------------------------------------------------------------------------
 */

MT_HOT _Atomic uint64_t mt_code_deaths;
_Atomic uint32_t mt_code_deaths_at[MT_CODE_PLACES];
MT_HOT void (*_Atomic mt_code_death_notice)(uint64_t code);
static dealloc *real_free_code;

static void count_and_free(void *code)
{
    uint64_t address = (uint64_t)(uintptr_t)code;
    atomic_fetch_add_explicit(mt_code_deaths_of(address), 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&mt_code_deaths, 1, memory_order_release);
    void (*notice)(uint64_t) = atomic_load_explicit(&mt_code_death_notice, memory_order_relaxed);
    if (MT_UNLIKELY(notice != NULL))
        notice(address);
    real_free_code(code);
}

int mt_code_deaths_count(const void *code_type)
{
    return replace(code_type, count_and_free, &real_free_code);
}

/* --- dicts --------------------------------------------------------------------------------------
 */

#define SETS 2048u
#define WAYS 8u

/* Watched dicts by address; 0: free. */
static struct place {
    _Atomic uint64_t dict, deaths;
} places[SETS][WAYS];

static dealloc *real_free_dict;

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
    real_free_dict(dict);
}

void mt_dict_deaths_start(const void *type)
{
    (void)replace(type, notice_and_free, &real_free_dict); /* otherwise nothing is watched */
}

const _Atomic uint64_t *mt_dict_deaths_watch(uint64_t dict)
{
    static unsigned turns;
    if (!real_free_dict)
        return NULL;
    struct place *place = find(dict, dict);
    if (!place && !(place = find(dict, 0))) {
        place = &set_of(dict)[turns++ % WAYS];
        give_up(place);
    }
    atomic_store_explicit(&place->dict, dict, memory_order_release);
    return &place->deaths;
}
