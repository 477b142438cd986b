/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory without an address of its own (cuMemCreate). It lives until it is mapped nowhere and its
 * handles are released; many programs release them right after mapping. Kept by the numbers of the
 * records in the heaps of handles and of mapped pieces.
 */
#ifndef MT_PHYSICAL_H
#define MT_PHYSICAL_H

#include "heap.h"

struct mt_physical_use {
    uint32_t maps;
    uint32_t handles; /* to be released: a handle may be retained, or imported, more than once */
};

struct mt_physical {
    struct mt_physical_use *use; /* by handle record */
    uint64_t *handle;            /* by piece record */
    size_t n_uses, n_handles;    /* room */
};

/* One of zeros is empty. */
void mt_physical_clear(struct mt_physical *physical);

/* Note the record of new memory; or of a piece of the memory with this handle. 0 or -ENOMEM. */
int mt_physical_made(struct mt_physical *physical, uint32_t memory);
int mt_physical_mapped(struct mt_physical *physical, uint32_t memory, uint64_t handle,
                       uint32_t piece);

/* Return the handle of a piece. */
uint64_t mt_physical_handle(const struct mt_physical *physical, uint32_t piece);

/* Return the use of memory that was made here. */
struct mt_physical_use *mt_physical_use(const struct mt_physical *physical, uint32_t memory);

#endif
