/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The level below the frameworks: memory of devices that CUDA itself handed out, live; and where
 * what has no address of its own (cuMemCreate) is mapped.
 */
#ifndef MT_CUDA_LEVEL_H
#define MT_CUDA_LEVEL_H

#include "heap.h"
#include "moment.h"
#include "origins.h"
#include "physical.h"
#include "touches.h"

#define MT_CUDA_RECENT 16u

struct mt_cuda_level {
    struct mt_heap heap;
    struct mt_heap mapped;   /* not counted again: its bytes are in heap, by handle */
    struct mt_heap imported; /* counted where it was made: imported.h */
    struct mt_physical physical;
    struct mt_touches touches;
    /* The frees that may still turn out to have failed: a free is recorded before the call. */
    struct mt_event recent[MT_CUDA_RECENT]; /* as the allocation's event; kind 0: none */
    unsigned next_recent;
    uint64_t replaced; /* allocations at an address that was live */
    uint64_t unknown;  /* frees of what was never seen */
    /* Of allocations: freed though nothing is there since the last time; freed by another thread
     * than the one that had allocated. */
    struct mt_origins twice, by_others;
    /* What was freed last at each address where nothing is now: its place in gone, and 1. */
    struct mt_address_map freed;
    struct mt_origin *gone;
    size_t n_gone, gone_capacity;
};

/* A level of zeros is empty. */
void mt_cuda_clear(struct mt_cuda_level *level);

/* The bytes of the first piece that an unmap takes the address of; 0: none, or not all of it. */
uint64_t mt_cuda_piece(const struct mt_cuda_level *level, const struct mt_event *unmap);

/* What an event does to allocations. ends: called with one that ends, while it is still there, at the
 * event's address or what was there before; 0 or -ENOMEM. NULL: nobody asks. */
struct mt_cuda_change {
    int (*ends)(void *data, struct mt_block *block);
    void *data;
    struct mt_block *made; /* or is there again, since its free failed; NULL: none */
};

/* Takes a CUDA event into account, and tells what it changes; other kinds change nothing. 0 or
 * -ENOMEM. */
int mt_cuda_event(struct mt_cuda_level *level, const struct mt_event *event,
                  struct mt_cuda_change *change);

#endif
