/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is live on a device just now, in a replay that goes on (follow.h): by category and by call site, as
 * a report at the end would say it if the trace ended here. The replay stays as it is.
 */
#ifndef MT_LOOK_H
#define MT_LOOK_H

#include <stdbool.h>

#include "analyzer/replay/replay.h"
#include "sites.h"

struct mt_look {
    int of_cuda; /* no PyTorch block was seen: blocks are what CUDA handed out */
    struct mt_totals now, peak;
    uint64_t unseen; /* allocated, but before the recording began, or while it lost events */
    uint64_t category[MT_CATEGORY_ROOM];
    size_t blocks;
    struct mt_sites sites;
};

/* Whether memory was ever allocated on the device of that slot. */
bool mt_look_is_used(const struct mt_replay *replay, unsigned slot);

/* Looks at the device of that slot. 0 or -ENOMEM; to be cleared in any case. */
int mt_look_take(struct mt_look *look, const struct mt_replay *replay, unsigned slot);
void mt_look_clear(struct mt_look *look);

#endif
