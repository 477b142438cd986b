/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live blocks, and the events to keep if a block is kept: its allocation, labels with new facts,
 * and its touches.
 */
#ifndef MT_KEEP_LIVES_H
#define MT_KEEP_LIVES_H

#include <stdbool.h>

#include "analyzer/model/heap.h"
#include "keep-nodes.h"

struct mt_keep_life {
    struct mt_candidate *event;
    size_t n, capacity;
    struct mt_candidate first_touch, last_touch;
    size_t moments; /* moments moments that had passed at its allocation */
    bool is_wanted; /* kept, even if short-lived */
    struct {
        uint64_t number;
        uint32_t evidence, save_stack, name, dtype;
    } known;       /* evidence from the labels so far */
    uint32_t next; /* next in the free list */
};

struct mt_keep_lives {
    struct mt_keep_nodes *nodes; /* the caller's */
    struct mt_keep_life *life;   /* 1 .. n - 1 */
    uint32_t n, first_free;
    size_t capacity;
};

/* Clear the lifetimes. A zeroed struct, except nodes, is empty. */
void mt_keep_lives_clear(struct mt_keep_lives *lives);

/* Begin a block allocated by the last event, which has this number. The map has one level's
 * lifetimes by address. Return 0 or -ENOMEM. */
int mt_keep_life_begin(struct mt_keep_lives *lives, struct mt_address_map *by_address,
                       uint64_t address, uint64_t number, size_t moments, bool is_wanted);

/* End a lifetime after this many moments. Return whether it is kept. */
int mt_keep_life_end(struct mt_keep_lives *lives, uint32_t index, size_t moments);

/* Keep all live blocks at the end of the trace. */
void mt_keep_lives_finish(struct mt_keep_lives *lives);

/* Add the last event to a lifetime: always; only if it has new facts; or as a touch. Return 0 or
 * -ENOMEM. */
int mt_keep_life_add(struct mt_keep_lives *lives, uint32_t index, uint64_t number);
int mt_keep_life_label(struct mt_keep_lives *lives, uint32_t index, const struct mt_block *block,
                       uint64_t number);
void mt_keep_life_touch(struct mt_keep_lives *lives, uint32_t index, uint64_t number);

#endif
