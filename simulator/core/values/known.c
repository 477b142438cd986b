/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <stdlib.h>

_Thread_local struct sim_answer sim_answer;

/* Open addressing; nothing is removed until the table grows. */
static struct {
    atomic_flag lock;
    struct known {
        uintptr_t storage; /* 0: free */
        enum sim_known known;
    } *slots;
    size_t size, used; /* size: a power of two, or 0 */
} table = {.lock = ATOMIC_FLAG_INIT};

static void lock_table(void)
{
    while (atomic_flag_test_and_set_explicit(&table.lock, memory_order_acquire))
        ;
}

static void unlock_table(void)
{
    atomic_flag_clear_explicit(&table.lock, memory_order_release);
}

static struct known *slot_of(uintptr_t storage)
{
    size_t i = (size_t)((storage >> 9) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    for (;; i++) {
        struct known *slot = &table.slots[i & (table.size - 1)];
        if (slot->storage == storage || !slot->storage)
            return slot;
    }
}

/* Make room for one more entry. Fresh storages are dropped. Return false if there is no memory. */
static bool grow(void)
{
    struct known *old = table.slots;
    size_t size = table.size, live = 0;
    for (size_t i = 0; i < size; i++)
        live += old[i].known != SIM_FRESH;
    table.size = 1024;
    while (table.size < 4 * (live + 1))
        table.size *= 2;
    table.slots = calloc(table.size, sizeof(*table.slots));
    if (!table.slots) {
        table.slots = old;
        table.size = size;
        return false;
    }
    table.used = live;
    for (size_t i = 0; i < size; i++)
        if (old[i].known != SIM_FRESH)
            *slot_of(old[i].storage) = old[i];
    free(old);
    return true;
}

enum sim_known sim_known(const void *storage)
{
    enum sim_known known = SIM_FRESH;
    lock_table();
    if (table.size)
        known = slot_of((uintptr_t)storage)->known;
    unlock_table();
    return known;
}

void sim_know(const void *storage, enum sim_known known)
{
    if (!storage)
        return;
    lock_table();
    struct known *slot = table.size ? slot_of((uintptr_t)storage) : NULL;
    if (known != SIM_FRESH && (!slot || !slot->storage)) {
        if (2 * (table.used + 1) > table.size && !grow())
            slot = NULL;
        else
            slot = slot_of((uintptr_t)storage);
        if (slot && !slot->storage) {
            slot->storage = (uintptr_t)storage;
            table.used++;
        }
    }
    if (slot && slot->storage)
        slot->known = known;
    unlock_table();
}
