/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of blocks whose storages have given their memory back. */
#ifndef MT_PRELOAD_LIVE_STORAGES_H
#define MT_PRELOAD_LIVE_STORAGES_H

#include "trace-format/model.h"

/* Initialize with zeros. */
struct mt_live_storages {
    struct mt_live_storage **place; /* by a hash of the storage's address */
};

void mt_live_storages_clear(struct mt_live_storages *storages);

/* Note that the event's storage gives back a block with these labels. Return 0 or -ENOMEM. */
int mt_live_storage_empty(struct mt_live_storages *storages, const struct mt_event *event,
                          const struct mt_event *label, uint32_t n);

/* The storage got the block at the event's address: return the block's labels one by one. *i: 0 at
 * first. Returns 0 after the last. */
int mt_live_storage_next(const struct mt_live_storages *storages, const struct mt_event *event,
                         uint32_t *i, struct mt_event *label);

#endif
