/* SPDX-License-Identifier: Apache-2.0 */
#include "range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/pages.h"
#include "content.h"
#include "pool.h"

enum { UNIT = 512, UNITS = 4096 };

struct sim_slab {
    struct sim_slab *next;
    int device, file; /* file: behind the page, -1 when it is not shared */
    unsigned free;
    uintptr_t start;
    unsigned char used[UNITS];
};

static struct sim_slab *slabs;

static unsigned units_of(size_t size)
{
    return (unsigned)((size + UNIT - 1) / UNIT);
}

/* Return the first long enough run of free units, UNITS if there is none. */
static unsigned find_run(const struct sim_slab *slab, unsigned wanted)
{
    unsigned run = 0;
    if (slab->free < wanted)
        return UNITS;
    for (unsigned i = 0; i < UNITS; i++) {
        run = slab->used[i] ? 0 : run + 1;
        if (run == wanted)
            return i + 1 - wanted;
    }
    return UNITS;
}

static struct sim_slab *new_slab(int device)
{
    struct sim_slab *slab = calloc(1, sizeof(*slab));
    if (!slab)
        return NULL;
    if (sim_allocate_emptying(sim_device(device), SIM_PAGE)) {
        free(slab);
        return NULL;
    }
    slab->start = (uintptr_t)sim_pages_map(SIM_PAGE, SIM_PAGE, true);
    if (!slab->start) {
        sim_free_bytes(sim_device(device), SIM_PAGE);
        free(slab);
        return NULL;
    }
    slab->device = device;
    slab->file = -1;
    slab->free = UNITS;
    slab->next = slabs;
    slabs = slab;
    return slab;
}

int sim_slab_take(int device, size_t size, struct sim_slab **out, uintptr_t *address)
{
    unsigned wanted = units_of(size), at = UNITS;
    struct sim_slab *slab;
    for (slab = slabs; slab; slab = slab->next)
        if (slab->device == device && (at = find_run(slab, wanted)) < UNITS)
            break;
    if (!slab) {
        slab = new_slab(device);
        if (!slab)
            return -ENOMEM;
        at = 0;
    }
    memset(&slab->used[at], 1, wanted);
    slab->free -= wanted;
    *out = slab;
    *address = slab->start + (uintptr_t)at * UNIT;
    return 0;
}

static void drop(struct sim_slab *slab)
{
    struct sim_slab **link = &slabs;
    while (*link != slab)
        link = &(*link)->next;
    *link = slab->next;
    if (slab->file >= 0)
        close(slab->file);
    sim_pages_unmap((void *)slab->start, SIM_PAGE);
    sim_free_bytes(sim_device(slab->device), SIM_PAGE);
    free(slab);
}

void sim_slab_give(struct sim_slab *slab, uintptr_t address, size_t size)
{
    unsigned count = units_of(size);
    memset(&slab->used[(address - slab->start) / UNIT], 0, count);
    slab->free += count;
    if (slab->free == UNITS)
        drop(slab);
    else
        sim_clear((void *)address, (size_t)count * UNIT);
}

uintptr_t sim_slab_start(const struct sim_slab *slab)
{
    return slab->start;
}

int *sim_slab_file(struct sim_slab *slab)
{
    return &slab->file;
}
