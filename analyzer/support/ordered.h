/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses in order, each with a number: which is the last one at or below an address? A sorted
 * list of sorted pieces of at most MT_ORDERED_PIECE entries, so that a change moves little memory.
 */
#ifndef MT_ORDERED_H
#define MT_ORDERED_H

#include <stddef.h>
#include <stdint.h>

#define MT_ORDERED_PIECE 128

struct mt_ordered_piece;

struct mt_ordered {
    struct mt_ordered_piece **pieces;
    size_t n_pieces, capacity;
};

/* An mt_ordered of zeros is empty. */
void mt_ordered_clear(struct mt_ordered *ordered);

/* Adds an address, or changes its number. 0 or -ENOMEM. */
int mt_ordered_put(struct mt_ordered *ordered, uint64_t address, uint32_t value);

/* Takes an address out; nothing where it is not there. */
void mt_ordered_remove(struct mt_ordered *ordered, uint64_t address);

/* 1 and *value of the greatest address that is not above this one; 0 where there is none. */
int mt_ordered_below(const struct mt_ordered *ordered, uint64_t address, uint32_t *value);

#endif
