/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays (the memory of textures) and copies in three dimensions. */
#ifndef SIM_ARRAY_H
#define SIM_ARRAY_H

#include "content.h"
#include "memory.h"

/* An array is rows of elements in device memory; only its handle leads to it. */
struct sim_array {
    size_t width, height, depth; /* elements, rows, planes or layers; 0: no such dimension */
    unsigned element;            /* bytes */
    unsigned flags;
    int format, channels; /* the driver's numbers */
    size_t pitch;         /* bytes of a row */
    char *memory;
    bool inner; /* a level: the mipmapped array frees it */
};

struct sim_mipmaps {
    unsigned count;
    struct sim_array levels[16];
};

/* Create an array. The caller sets the fields above `pitch`. -EINVAL: it is empty, or its element
 * size is invalid. -ENOMEM. */
SIM_API int sim_array_create(const struct sim_array *shape, struct sim_array **out);
SIM_API int sim_array_destroy(struct sim_array *array);
SIM_API int sim_mipmaps_create(const struct sim_array *shape, unsigned levels,
                               struct sim_mipmaps **out);
SIM_API int sim_mipmaps_destroy(struct sim_mipmaps *mipmaps);
/* Return the array's size on the device, in bytes. */
SIM_API size_t sim_array_size(const struct sim_array *array);

/* One side of a copy: an array, or memory with a pitch. Its start is in bytes, rows, planes. */
struct sim_side {
    struct sim_array *array;
    void *address;
    size_t pitch, height, width; /* height: rows per plane; width is stored without effect */
    size_t x, y, z;
    int kind; /* the driver's kind of memory; stored without effect */
};

struct sim_copy3d {
    struct sim_side to, from;
    size_t width, height, depth; /* bytes, rows, planes */
    enum sim_direction direction;
};

/* Copy. -EINVAL: the copy does not fit an array, or a device side is not device memory. */
SIM_API int sim_copy_3d(const struct sim_copy3d *copy);
/* Return a copy of plain bytes in this form. */
static inline struct sim_copy3d sim_copy_rows(void *to, size_t to_pitch, const void *from,
                                              size_t from_pitch, size_t width, size_t height,
                                              enum sim_direction direction)
{
    return (struct sim_copy3d){
        .to = {.address = to, .pitch = to_pitch, .width = width, .height = height},
        .from = {.address = (void *)(uintptr_t)from,
                 .pitch = from_pitch,
                 .width = width,
                 .height = height},
        .width = width,
        .height = height,
        .depth = 1,
        .direction = direction};
}

#endif
