/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storages that free their memory and get some again: FSDP resizes those of unsharded parameters to
 * nothing after a layer and to their old size before it. What is known about a tensor then applies
 * to its next block.
 */
#include "preload/hooks/hooks.h"
#include "preload/python/tensor.h"
#include "preload/record/recorder.h"
#include "real.h"

#include <stdatomic.h>

MT_STORAGE_HOOKS(MT_REAL_OF_ONE_RELEASE)

#define EMPTIED 16384u

/* Storages that have freed their memory. Others need no record. */
static _Atomic uint64_t emptied[EMPTIED];

static _Atomic uint64_t *place_of(const void *storage)
{
    uint64_t address = (uint64_t)(uintptr_t)storage;
    return &emptied[(address >> 4 ^ address >> 18) % EMPTIED];
}

static void record(const void *storage, struct mt_tensor_data place, size_t size)
{
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    mt_record(self, MT_RESIZE, place.device, 0,
              MT_ARGS(place.address, (uint64_t)(uintptr_t)storage, size));
    mt_leave(self);
}

static struct mt_tensor_data read_data(const void *storage)
{
    int head = mt_tensor_head;
    return mt_is_recording() && head > 0 ? mt_storage_place(storage, head)
                                         : (struct mt_tensor_data){0, 0};
}

void mt_hook_resize_storage(void *storage, size_t size)
{
    _Atomic uint64_t *is_emptied = place_of(storage);
    uint64_t address = (uint64_t)(uintptr_t)storage;
    struct mt_tensor_data before = read_data(storage);
    if (before.address && !size) {
        record(storage, before, 0);
        *is_emptied = address;
    }
    real_resize_storage()(storage, size);
    if (before.address || !size || *is_emptied != address)
        return;
    struct mt_tensor_data after = read_data(storage);
    if (after.address)
        record(storage, after, size);
}
