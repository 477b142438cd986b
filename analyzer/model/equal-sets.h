/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal-size sets: a line that allocates a block for every trained parameter at once, of its size
 * or in another precision, makes copies of the parameters, whatever the program calls them.
 */
#ifndef MT_EQUAL_SETS_H
#define MT_EQUAL_SETS_H

#include <stdbool.h>

#include "analyzer/support/address-map.h"
#include "heap.h"

struct mt_equal_sets {
    struct mt_address_map sizes;    /* parameters' -> how many */
    struct mt_address_map narrow;   /* the same, without those of 32 bits and more */
    struct mt_address_map together; /* the same, of one generation */
    size_t parameters;
    struct mt_address_map sites; /* stack and backward -> index of its counts, from 1 */
    struct mt_address_map made;  /* a site's blocks of one size -> how many */
    struct mt_copy_site {
        uint64_t bytes, same, wider; /* of all its blocks, of blocks of a parameter's size, and of
                                      * blocks of double that */
        size_t parameters;           /* parameters that have their block */
    } *site;
    size_t n_sites, capacity;
};

/* Clear a table; one of zeros is empty. */
void mt_equal_sets_clear(struct mt_equal_sets *sets);

/* Add every parameter first, then every block that may be a copy. site: the stack of its Python
 * line; 0: none. A line that allocates one block per iteration does not make a set. If steps
 * recreate parameters, several generations may be live; they count once. Return 0 or -ENOMEM. */
int mt_equal_sets_add_parameter(struct mt_equal_sets *sets, const struct mt_block *block,
                                uint32_t generation);
int mt_equal_sets_add(struct mt_equal_sets *sets, const struct mt_block *block, uint32_t site);

/* Return whether a parameter has this size. */
bool mt_equal_sets_has_size(const struct mt_equal_sets *sets, uint64_t size);

/* The kind of copies that the block belongs to. */
enum mt_copy { MT_NO_COPY, MT_COPY, MT_WIDER_COPY };
enum mt_copy mt_copy_kind(const struct mt_equal_sets *sets, const struct mt_block *block,
                          uint32_t site);

#endif
