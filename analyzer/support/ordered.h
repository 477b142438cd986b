/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers sorted by their addresses, which their owner stores: find the last one at or below an
 * address. A sorted list of sorted pieces of at most MT_ORDERED_PIECE entries, so that a change
 * moves little memory. Pieces are about two thirds full, or full if addresses arrive in order.
 */
#ifndef MT_ORDERED_H
#define MT_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_ORDERED_PIECE 128

struct mt_ordered_piece;

struct mt_ordered {
    struct mt_ordered_piece **pieces;
    size_t n_pieces, capacity;
};

/* Returns the address of a number in the list. */
struct mt_ordered_keys {
    uint64_t (*address)(const void *owner, uint32_t number);
    const void *owner;
};

/* Clear it. A zeroed mt_ordered is empty. */
void mt_ordered_clear(struct mt_ordered *ordered);

/* Add a number with a unique address. Return 0 or -ENOMEM. */
int mt_ordered_put(struct mt_ordered *ordered, struct mt_ordered_keys keys, uint32_t number);

/* Remove the number at an address, if any. */
void mt_ordered_remove(struct mt_ordered *ordered, struct mt_ordered_keys keys, uint64_t address);

/* Return 1 and set *number to that of the greatest address not above this one; 0: none. */
bool mt_ordered_below(const struct mt_ordered *ordered, struct mt_ordered_keys keys,
                      uint64_t address, uint32_t *number);

#endif
