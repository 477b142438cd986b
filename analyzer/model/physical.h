/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that has no address of its own (cuMemCreate). It lives until it is mapped nowhere and its
 * handles were released, which many programs do as soon as it is mapped. Kept by the numbers of the
 * records in the heaps of handles and of mapped pieces.
 */
#ifndef MT_PHYSICAL_H
#define MT_PHYSICAL_H

#include "heap.h"

struct mt_physical_use {
    uint32_t maps;
    uint32_t handles; /* that are to be released: one is retained, or imported, more than once */
};

struct mt_physical {
    struct mt_physical_use *use; /* of handles */
    uint64_t *handle;            /* of pieces */
    size_t n_uses, n_handles;    /* there is room for */
};

/* Of zeros it is empty. */
void mt_physical_clear(struct mt_physical *physical);

/* A record is that of new memory; or of a piece of the memory with that handle. 0 or -ENOMEM. */
int mt_physical_made(struct mt_physical *physical, uint32_t memory);
int mt_physical_mapped(struct mt_physical *physical, uint32_t memory, uint64_t handle,
                       uint32_t piece);

/* The handle of a piece. */
uint64_t mt_physical_handle(const struct mt_physical *physical, uint32_t piece);

/* Of memory that was made. */
struct mt_physical_use *mt_physical_use(const struct mt_physical *physical, uint32_t memory);

#endif
