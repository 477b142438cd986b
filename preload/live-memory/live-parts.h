/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by live.c, which follows the events, and live-list.c, which lists them. */
#ifndef MT_LIVE_PARTS_H
#define MT_LIVE_PARTS_H

#include "live.h"
#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>

/* The labels of blocks whose storages have freed their memory. */

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

/*
 * The program's open ranges, for a trace that drops its past: a new segment begins with them. For
 * the writer only.
 */

struct mt_live_ranges {
    struct mt_event *open; /* the events that opened them, in order */
    size_t n, capacity;
};

/* Process an event of any kind. Return 0 or -ENOMEM. */
int mt_live_ranges_event(struct mt_live_ranges *ranges, const struct mt_event *event);

/* Call `each` for all open ranges. Return 0, or what `each` returned. */
int mt_live_ranges_each(const struct mt_live_ranges *ranges,
                        int (*each)(const struct mt_event *event));

void mt_live_ranges_clear(struct mt_live_ranges *ranges);

/* What keeps physical memory (cuMemCreate) besides its first handle: it may have several handles,
 * and stay mapped after the last one is released. */

#define MT_LIVE_HANDLES 4u /* more are not listed */

struct mt_live_physical {
    uint32_t handles, maps;
    struct mt_event last; /* the event that added or removed a handle */
};

/* Return whether the event creates physical memory; whether it gives existing memory another
 * handle. */
bool mt_live_makes_physical(const struct mt_event *event);
bool mt_live_adds_handle(const struct mt_event *event);

/* Add (by = 1) or remove (by = -1) a handle, because of this event. */
void mt_live_handle(struct mt_live_physical *physical, const struct mt_event *event, int by);

static inline bool mt_live_is_kept(const struct mt_live_physical *physical)
{
    return physical->handles || physical->maps;
}

/* Write the events that give the memory its number of handles after its creation. Return their
 * number, at most MT_LIVE_HANDLES. */
size_t mt_live_handle_events(const struct mt_live_physical *physical, struct mt_event *out);

#define MT_LIVE_MOST_NOTES 12u     /* of a block; later ones are dropped*/
#define MT_LIVE_MOST_PARTS 1024u   /* except parts of parameters: a flat one has many */
#define MT_LIVE_MOST_RUNNING 64u   /* nested nodes of a thread */
#define MT_LIVE_MOST_UNKNOWN 1024u /* places that read values that are not simulated */
#define MT_LIVE_DEVICES 64u
#define MT_LIVE_THREADS 1024u

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

struct mt_live_running {
    uint64_t node[MT_LIVE_MOST_RUNNING], name[MT_LIVE_MOST_RUNNING];
    uint32_t depth;
};

#define MT_LIVE_NODES 65536u /* kept, */
#define MT_LIVE_WAYS 4u      /* in so many places by each hash */
struct mt_live_node {
    uint64_t address;
    uint32_t stack;  /* where it was created */
    bool is_written; /* a light recording has it */
};

struct mt_live {
    struct mt_live_map by_address, by_granule;
    uint64_t reach;                  /* the most granules that a PyTorch block covers */
    struct mt_live_running *running; /* by thread */
    struct mt_live_node *nodes;      /* a cache: by a hash of the address, MT_LIVE_WAYS for each */
    unsigned next_way;
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

void mt_live_free_block(struct mt_live_block *block); /* NULL: nothing */

/* Keep a block of the peak that an event frees; forget all such blocks of a device. */
void mt_live_keep_gone(struct mt_live *live, struct mt_live_block *block,
                       const struct mt_event *event);
void mt_live_forget_gone(struct mt_live *live, unsigned slot);

/* Return what is known of a node, or NULL. */
struct mt_live_node *mt_live_node_of(struct mt_live *live, uint64_t address);

/* Add a node, replacing one that was at its address, or another one. */
void mt_live_make_node(struct mt_live *live, const struct mt_event *event);

/* Return the stack where the innermost running node was created, 0 if unknown; its address and
 * name, 0 if there is none. */
uint32_t mt_live_running_line(struct mt_live *live, uint32_t thread, uint64_t *node,
                              uint64_t *name);

void mt_live_begin_node(struct mt_live *live, const struct mt_event *event);
void mt_live_end_node(struct mt_live *live, const struct mt_event *event);
void mt_live_forget_running(struct mt_live *live, uint32_t thread);

static inline size_t mt_live_hash(uint64_t number)
{
    return (size_t)((number * 0x9e3779b97f4a7c15u) >> 32);
}

#endif
