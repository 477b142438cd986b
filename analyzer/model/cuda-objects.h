/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live contexts, CUDA modules, streams and communicators of NCCL, which use device memory without
 * being allocations. CUDA does not report their size; for a module the length of its image is
 * known.
 */
#ifndef MT_OBJECTS_H
#define MT_OBJECTS_H

#include "analyzer/support/address-map.h"
#include "heap.h"

struct mt_cuda_object_counts {
    uint64_t contexts, modules, streams, communicators;
    uint64_t code; /* bytes of the modules' images, for all their architectures */
};

struct mt_cuda_objects {
    struct mt_address_map by_handle; /* places */
    struct mt_cuda_object {
        uint64_t code;
        uint32_t next; /* in the list of free records */
        uint8_t space; /* enum mt_space */
        uint8_t slot;
    } *object;
    size_t n, capacity;
    uint32_t first_free; /* 0: none */
    struct mt_cuda_object_counts now[MT_DEVICES];
};

/* Clear the objects. A zeroed struct is empty. */
void mt_cuda_objects_clear(struct mt_cuda_objects *objects);

/* Handle a CUDA_OBJECT or CUDA_OBJECT_GONE. 0 or -ENOMEM. */
int mt_cuda_objects_event(struct mt_cuda_objects *objects, const struct mt_event *event);

/* Return the counts on the slot's device. What is of no device counts on each, but
 * for contexts. */
struct mt_cuda_object_counts mt_cuda_objects_on(const struct mt_cuda_objects *objects,
                                                unsigned slot);

#endif
