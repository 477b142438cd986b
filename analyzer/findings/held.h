/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps blocks alive, where the trace has lists of holders.
 */
#ifndef MT_FINDINGS_HELD_H
#define MT_FINDINGS_HELD_H

#include "analyzer/holders/holder-words.h"
#include "analyzer/replay/replay.h"

struct mt_device;

struct mt_held_block {
    const struct mt_verdict *verdict;
    struct mt_block_held held;
};

/* Find the holders of a device's blocks. 0 or -ENOMEM. */
int mt_held_find(struct mt_device *device, const struct mt_replay *replay, unsigned slot);

/* Return the holders of a block of the device; NULL: none are known. */
const struct mt_block_held *mt_device_held(const struct mt_device *device,
                                           const struct mt_block *block);

/* Build the tree of those of some verdicts whose holders are known; the number of a block is its
 * index in them. 0 or -ENOMEM. Call mt_holder_tree_clear in any case. */
int mt_held_tree(struct mt_holder_tree *tree, const struct mt_device *device,
                 const struct mt_verdict *verdicts, size_t n);

/* What holds blocks only until the program lets go of it. */
enum mt_held_kind {
    MT_HELD_GARBAGE,   /* MT_HOLDER_GARBAGE */
    MT_HELD_TRACEBACK, /* MT_HOLDER_TRACEBACK: of an exception that is being handled */
    MT_HELD_LAST_ERROR,
    MT_HELD_KINDS
};

/* Find what holds most of each of the device's call sites. 0 or -ENOMEM. */
int mt_held_sites(struct mt_device *device, const struct mt_naming *naming);

/* Find what holds most of some blocks. 0 or -ENOMEM. Call mt_held_most_clear in any case. */
int mt_held_most_of(struct mt_held_most *most, const struct mt_device *device,
                    const struct mt_verdict *verdicts, size_t n);

#endif
