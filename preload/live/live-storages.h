/* SPDX-License-Identifier: Apache-2.0 */
/* What live.c remembers of storages that have given their memory back: the labels of the block. */
#ifndef MT_PRELOAD_LIVE_STORAGES_H
#define MT_PRELOAD_LIVE_STORAGES_H

#include "trace-format/model.h"

/* Zeros at first. */
struct mt_live_storages {
    struct mt_live_storage **place; /* by a hash of the storage's address */
};

void mt_live_storages_clear(struct mt_live_storages *storages);

/* The storage of the event gives back a block that has these labels. 0 or -ENOMEM. */
int mt_live_storage_empty(struct mt_live_storages *storages, const struct mt_event *event,
                          const struct mt_event *label, uint32_t n);

/* It has got the block at the event's address: what labels this one has then, as often as there
 * are some. *i: 0 at first. 0: there is none any more. */
int mt_live_storage_next(const struct mt_live_storages *storages, const struct mt_event *event,
                         uint32_t *i, struct mt_event *label);

#endif
