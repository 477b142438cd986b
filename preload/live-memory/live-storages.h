/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of blocks whose storages have freed their memory. */
#ifndef MT_LIVE_STORAGES_H
#define MT_LIVE_STORAGES_H

#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialize with zeros. */
struct mt_live_storages {
    struct mt_live_storage **place; /* by a hash of the storage's address */
};

void mt_live_storages_clear(struct mt_live_storages *storages);

/* Note that the event's storage frees a block with these labels. Return 0 or -ENOMEM. */
int mt_live_storage_empty(struct mt_live_storages *storages, const struct mt_event *event,
                          const struct mt_event *label, uint32_t n);

/* Return the labels of the block that the storage got at the event's address, one by one; *i is 0
 * at first. Return 0 after the last. */
bool mt_live_storage_next(const struct mt_live_storages *storages, const struct mt_event *event,
                          uint32_t *i, struct mt_event *label);

#endif
