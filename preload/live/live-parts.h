/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that live.c, which follows the events, and live-list.c, which lists them, share. */
#ifndef MT_LIVE_PARTS_H
#define MT_LIVE_PARTS_H

#include "live-physical.h"
#include "live-ranges.h"
#include "live-storages.h"
#include "live.h"

#define MT_LIVE_MOST_NOTES 12u     /* of a block; later ones are not kept, */
#define MT_LIVE_MOST_PARTS 1024u   /* except parts of parameters: a flat one has many */
#define MT_LIVE_MOST_RUNNING 64u   /* nested nodes of a thread */
#define MT_LIVE_MOST_UNKNOWN 1024u /* places with values that were not computed */
#define MT_LIVE_DEVICES 64u
#define MT_LIVE_THREADS 1024u

struct mt_live_block {
    struct mt_event made;
    uint16_t sort;
    struct mt_event *note; /* labels; before them, the node that ran */
    uint32_t n_notes;
    uint64_t node, node_name;                    /* the node that ran on the thread; 0: none */
    uint32_t forward_stack;                      /* where it was made */
    struct mt_live_physical *physical;           /* of physical memory */
    struct mt_live_block *next, *before, *after; /* of its address's hash; of its granule's */
};

struct mt_live_map {
    struct mt_live_block **bucket;
    size_t mask, used;
};

struct mt_live_running {
    uint64_t node[MT_LIVE_MOST_RUNNING], name[MT_LIVE_MOST_RUNNING];
    uint32_t depth;
};

struct mt_live_node {
    uint64_t address;
    uint32_t stack; /* where it was made */
};

struct mt_live {
    struct mt_live_map by_address, by_granule;
    uint64_t reach;                  /* the most granules from a PyTorch block's begin to its end */
    struct mt_live_running *running; /* by thread */
    struct mt_live_node *nodes;      /* a cache: by a hash of the address */
    struct mt_live_block *freed;     /* by the last cudaFree, which may still fail */
    struct mt_live_ranges ranges;
    struct mt_live_storages storages;
    struct mt_event *unknown; /* each stands for all of its place and sort */
    size_t n_unknown;
    struct {
        uint64_t allocated, reserved;
    } total[MT_LIVE_DEVICES];
};

static inline unsigned mt_live_device_slot(int device)
{
    return (unsigned)(device + 1) % MT_LIVE_DEVICES;
}

#endif
