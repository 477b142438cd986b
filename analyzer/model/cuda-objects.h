/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What takes memory of a device and is no allocation: contexts, modules and streams, those that are
 * there. CUDA tells the size of none; of a module it is known how long its image is.
 */
#ifndef MT_OBJECTS_H
#define MT_OBJECTS_H

#include "analyzer/support/address-map.h"
#include "heap.h"

struct mt_cuda_object_counts {
    uint64_t contexts, modules, streams;
    uint64_t code; /* bytes of the modules' images, for all architectures that they have */
};

struct mt_cuda_objects {
    struct mt_address_map by_handle; /* place + 1 */
    struct mt_cuda_object {
        uint64_t code;
        uint32_t next; /* of free records */
        uint8_t space; /* enum mt_space */
        uint8_t slot;
    } * object;
    size_t n, capacity;
    uint32_t first_free; /* place + 1, 0: none */
    struct mt_cuda_object_counts now[MT_DEVICES];
};

/* One of zeros is empty. */
void mt_cuda_objects_clear(struct mt_cuda_objects *objects);

/* Takes a CUDA_OBJECT or CUDA_OBJECT_GONE into account. 0 or -ENOMEM. */
int mt_cuda_objects_event(struct mt_cuda_objects *objects, const struct mt_event *event);

/* On the device of that slot: modules and streams that belong to no device are on each. */
struct mt_cuda_object_counts mt_cuda_objects_on(const struct mt_cuda_objects *objects,
                                                unsigned slot);

#endif
