/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that are live, and which events of them have to be kept if they are: what made them, the
 * labels that said something new, and when they were touched.
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
    size_t moments; /* that had passed when it was made */
    bool is_wanted; /* kept, however long it lives */
    struct {
        uint64_t elements;
        uint32_t evidence, save_stack, name, dtype;
    } known;       /* by the labels so far */
    uint32_t next; /* that is free */
};

struct mt_keep_lives {
    struct mt_keep_nodes *nodes; /* the caller's */
    struct mt_keep_life *life;   /* 1 .. n - 1 */
    uint32_t n, first_free;
    size_t capacity;
};

/* Lives of zeros, but for nodes, are none. */
void mt_keep_lives_clear(struct mt_keep_lives *lives);

/* The last event, of this number, makes a block. The map has those at one level by their addresses.
 * 0 or -ENOMEM. */
int mt_keep_life_begin(struct mt_keep_lives *lives, struct mt_address_map *by_address,
                       uint64_t address, uint64_t number, size_t moments, bool is_wanted);

/* It ends after so many moments. Whether it is kept. */
int mt_keep_life_end(struct mt_keep_lives *lives, uint32_t index, size_t moments);

/* The trace ends: what is live is kept. */
void mt_keep_lives_finish(struct mt_keep_lives *lives);

/* The last event says more of it: in any case, if the block has learned something, or as one that
 * touches it. 0 or -ENOMEM. */
int mt_keep_life_add(struct mt_keep_lives *lives, uint32_t index, uint64_t number);
int mt_keep_life_label(struct mt_keep_lives *lives, uint32_t index, const struct mt_block *block,
                       uint64_t number);
void mt_keep_life_touch(struct mt_keep_lives *lives, uint32_t index, uint64_t number);

#endif
