/* SPDX-License-Identifier: Apache-2.0 */
#include "range.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_range *table;
static size_t used, room;
static uint64_t last_id;

void sim_range_lock(void)
{
    pthread_mutex_lock(&lock);
}

void sim_range_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Return the index of the first range that starts after the address. */
static size_t after(uintptr_t address)
{
    size_t low = 0, high = used;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int sim_range_add(struct sim_range range)
{
    size_t at = after(range.start);
    if ((at && table[at - 1].start + table[at - 1].size > range.start) ||
        (at < used && range.start + range.size > table[at].start))
        return -EEXIST;
    if (sim_grow(&table, used, &room, sizeof(*table)))
        return -ENOMEM;
    memmove(&table[at + 1], &table[at], (used - at) * sizeof(*table));
    range.id = ++last_id;
    table[at] = range;
    used++;
    return 0;
}

struct sim_range *sim_range_at(uintptr_t address)
{
    size_t at = after(address);
    if (!at || address - table[at - 1].start >= table[at - 1].size)
        return NULL;
    return &table[at - 1];
}

void sim_range_remove(struct sim_range *range)
{
    size_t at = (size_t)(range - table);
    memmove(&table[at], &table[at + 1], (used - at - 1) * sizeof(*table));
    used--;
}

struct sim_range *sim_range_number(size_t index)
{
    return index < used ? &table[index] : NULL;
}

bool sim_find(const void *address, struct sim_range *copy)
{
    sim_range_lock();
    struct sim_range *range = sim_range_at((uintptr_t)address);
    if (range)
        *copy = *range;
    sim_range_unlock();
    return range;
}
