/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live blocks on a device in a running replay (follow.h), by category and call site, as a
 * report would show them if the trace ended here. The replay is not changed.
 */
#ifndef MT_INSPECT_H
#define MT_INSPECT_H

#include <stdbool.h>

#include "analyzer/query/sites.h"
#include "analyzer/replay/replay.h"

struct mt_inspection {
    bool of_cuda; /* no PyTorch block was seen: blocks are CUDA's */
    struct mt_totals now, peak;
    uint64_t unseen; /* allocated before the recording began, or while it lost events */
    uint64_t category[MT_CATEGORY_ROOM];
    size_t blocks;
    struct mt_sites sites;
};

/* Return whether memory was ever allocated on the slot's device. */
bool mt_inspect_is_used(const struct mt_replay *replay, unsigned slot);

/* Inspect the slot's device. Return 0 or -ENOMEM. Call mt_inspection_clear in any case. */
int mt_inspect_device(struct mt_inspection *live, const struct mt_replay *replay, unsigned slot);

/* Pass the live blocks on the slot's device, classified as if the trace ended here, to a function
 * that returns 0 or a negative errno. Return its result, or -ENOMEM. */
typedef int mt_inspect_handler(void *data, const struct mt_naming *naming,
                               const struct mt_verdict *verdicts, size_t n);
int mt_inspect_blocks(const struct mt_replay *replay, unsigned slot, mt_inspect_handler *handle,
                      void *data);

/* Inspect the slot's device at its peak so far, if the replay's moment is the peak; `now` is then
 * the peak. */
int mt_inspect_peak(struct mt_inspection *live, const struct mt_replay *replay, unsigned slot);
void mt_inspection_clear(struct mt_inspection *live);

#endif
