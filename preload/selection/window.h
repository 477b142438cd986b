/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by window.c, which collects a window and decides when everything is recorded, and
 * selection.c, which writes the window. */
#ifndef MT_SELECTION_WINDOW_H
#define MT_SELECTION_WINDOW_H

#include "phases.h"
#include "selection.h"

#define MT_SELECTION_WINDOW 65536u /* events */
#define MT_SELECTION_DEVICES 64u

/* Places count from 1; 0: none, or none in this window. */
struct mt_selection_slot {
    struct mt_event event;
    uint32_t of;   /* the alloc of the block that a label, a free or a request belongs to; or the
                      start of the node that this ends */
    uint32_t node; /* the start of the innermost running node */
    uint32_t end;  /* of an alloc: the free */
    uint32_t next; /* of an alloc: another one of the same hash */
    bool is_written;
    bool has_block; /* an alloc's: its block is recorded, not only its totals */
};

/* The lowest totals of some iterations: memory may grow with each iteration. */
struct mt_selection_growth {
    uint64_t floor, before; /* the lowest total of these iterations, and of those before them */
    uint32_t iteration, iterations, rises; /* rises: how often in a row it was higher */
};

struct mt_selection_device {
    bool is_used;
    uint64_t allocated, reserved;         /* PyTorch's totals after the last event collected*/
    uint64_t was_allocated, was_reserved; /* after the last one skipped or written*/
    uint64_t written_allocated, written_reserved; /* as a reader knows them */
    uint64_t peak, peak_written_ns;
    uint32_t run;         /* the phase of the following */
    uint32_t least, most; /* places */
    uint32_t highest;     /* of the window */
    struct mt_selection_growth growth;
    struct mt_selection_count { /* blocks left out, by stack */
        uint64_t blocks, bytes;
    } *count;
    size_t n_counts;
};

struct mt_selection {
    struct mt_selection_slot slot[MT_SELECTION_WINDOW];
    uint32_t n, passed;                   /* events; those written or left out */
    uint32_t bucket[MT_SELECTION_WINDOW]; /* of blocks that are made in the window */
    struct mt_selection_phases phases;
    struct mt_selection_device device[MT_SELECTION_DEVICES];
    uint64_t events;            /* so far */
    uint64_t all_until_ns;      /* record everything up to this time*/
    uint64_t all_until_event;   /* and then up to this event*/
    uint32_t all_until;         /* or until this many iterations have begun */
    uint32_t iterations_before; /* at that time; 0 iterations: none are recorded in full */
    uint64_t alarmed_ns;        /* when the last alarm was; 0: never */
    bool records_all;           /* for this window*/
    bool has_places;            /* whose events may be of memory within blocks */
    bool has_left_requests;     /* readers know that requests are no longer recorded */
    uint64_t counts_written_ns;
};

static inline struct mt_selection_slot *mt_selection_at(struct mt_selection *selection,
                                                        uint32_t place)
{
    return &selection->slot[place - 1];
}

static inline struct mt_selection_device *mt_selection_device_of(struct mt_selection *selection,
                                                                 int device)
{
    return &selection->device[(unsigned)(device + 1) % MT_SELECTION_DEVICES];
}

/* Return whether an event of this kind describes a block and needs to be recorded only once per
 * block. */
static inline bool mt_selection_is_label(unsigned kind)
{
    return mt_kind_about[kind] == MT_ABOUT_LABEL || kind == MT_WORKSPACE;
}

#define MT_SELECTION_ITERATIONS 3u /* recorded in full at the beginning and after an alarm */

#endif
