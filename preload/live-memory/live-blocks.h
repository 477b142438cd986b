/* SPDX-License-Identifier: Apache-2.0 */
/* The live blocks, which live.c keeps and live-list.c lists. */
#ifndef MT_LIVE_BLOCKS_H
#define MT_LIVE_BLOCKS_H

#include "live-nodes.h"
#include "live-physical.h"
#include "live-ranges.h"
#include "live-storages.h"
#include "live.h"
#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>

#define MT_LIVE_MOST_NOTES 12u     /* of a block; later ones are dropped*/
#define MT_LIVE_MOST_PARTS 1024u   /* except parts of parameters: a flat one has many */
#define MT_LIVE_MOST_UNKNOWN 1024u /* places that read values that are not simulated */
#define MT_LIVE_DEVICES 64u

struct mt_live_block {
    struct mt_event made;
    uint16_t sort;
    struct mt_event *note; /* labels; before them, the node that ran */
    uint32_t n_notes;
    uint64_t node, node_name;          /* the node that ran on the thread; 0: none */
    uint32_t forward_stack;            /* where the node was created */
    struct mt_live_physical *physical; /* of physical memory */
    bool is_at_peak;                   /* it was live then */
    uint32_t free_thread, free_stack;  /* of the free of a block that is kept for a peak */
    uint64_t free_ns;
    struct mt_live_block *next, *before, *after; /* of its address's hash; of its granule's */
};

struct mt_live_map {
    struct mt_live_block **bucket;
    size_t mask, used;
};

struct mt_live {
    struct mt_live_map by_address, by_granule;
    uint64_t reach; /* the most granules that a PyTorch block covers */
    struct mt_live_nodes nodes;
    struct mt_live_block *freed; /* by the last cudaFree, which may still fail */
    struct mt_live_ranges ranges;
    struct mt_live_storages storages;
    struct mt_event *unknown; /* each represents all of its place and kind */
    size_t n_unknown;
    struct {
        uint64_t allocated, reserved;
        struct mt_event peak;       /* with the totals then; kind 0: none is kept */
        struct mt_live_block *gone; /* freed since the peak */
    } total[MT_LIVE_DEVICES];
};

static inline unsigned mt_live_device_slot(int device)
{
    return (unsigned)(device + 1) % MT_LIVE_DEVICES;
}

#endif
