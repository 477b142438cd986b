/* SPDX-License-Identifier: Apache-2.0 */
#include "array.h"

#include <errno.h>
#include <stdlib.h>

#include "../device/device.h"

static size_t at_least_one(size_t size)
{
    return size ? size : 1;
}

static bool is_sound(const struct sim_array *shape)
{
    size_t size;
    return shape->width && shape->element && !(shape->element & (shape->element - 1)) &&
           shape->element <= 16 && shape->width < SIZE_MAX / 64 &&
           !__builtin_mul_overflow(shape->width * shape->element + 511, at_least_one(shape->height),
                                   &size) &&
           !__builtin_mul_overflow(size, at_least_one(shape->depth), &size);
}

size_t sim_array_size(const struct sim_array *array)
{
    return array->pitch * at_least_one(array->height) * at_least_one(array->depth);
}

static int allocate(struct sim_array *array)
{
    void *memory;
    array->pitch = (array->width * array->element + 511) & ~(size_t)511;
    int error = sim_allocate(SIM_DEVICE, sim_thread.device, sim_array_size(array), 0, &memory);
    if (!error)
        array->memory = memory;
    return error;
}

int sim_array_create(const struct sim_array *shape, struct sim_array **out)
{
    if (!is_sound(shape))
        return -EINVAL;
    struct sim_array *array = calloc(1, sizeof(*array));
    if (!array)
        return -ENOMEM;
    *array = *shape;
    int error = allocate(array);
    if (error)
        free(array);
    else
        *out = array;
    return error;
}

int sim_array_destroy(struct sim_array *array)
{
    if (!array || array->inner)
        return -EINVAL;
    int error = sim_release(array->memory, SIM_DEVICE);
    free(array);
    return error;
}

static size_t half(size_t size)
{
    return size > 1 ? size / 2 : size;
}

int sim_mipmaps_create(const struct sim_array *shape, unsigned count, struct sim_mipmaps **out)
{
    struct sim_mipmaps *mipmaps = calloc(1, sizeof(*mipmaps));
    struct sim_array level = *shape;
    int error = mipmaps ? 0 : -ENOMEM;
    if (!error && (!is_sound(shape) || !count))
        error = -EINVAL;
    level.inner = true;
    for (unsigned i = 0; !error && i < count && i < 16; i++) {
        mipmaps->levels[i] = level;
        error = allocate(&mipmaps->levels[i]);
        if (!error)
            mipmaps->count++;
        if (level.width <= 1 && level.height <= 1 && level.depth <= 1)
            break;
        level.width = half(level.width);
        level.height = half(level.height);
        level.depth = half(level.depth);
    }
    if (error && mipmaps)
        sim_mipmaps_destroy(mipmaps);
    else if (!error)
        *out = mipmaps;
    return error;
}

int sim_mipmaps_destroy(struct sim_mipmaps *mipmaps)
{
    if (!mipmaps)
        return -EINVAL;
    for (unsigned i = 0; i < mipmaps->count; i++)
        sim_release(mipmaps->levels[i].memory, SIM_DEVICE);
    free(mipmaps);
    return 0;
}

/* Resolve a side to memory: its start, and the distance between rows and planes. -EINVAL:
 * outside. */
static int resolve(const struct sim_side *side, const struct sim_copy3d *copy, char **start,
                   size_t *pitch, size_t *plane)
{
    const struct sim_array *array = side->array;
    if (array && (side->x + copy->width > array->width * array->element ||
                  side->y + copy->height > at_least_one(array->height) ||
                  side->z + copy->depth > at_least_one(array->depth)))
        return -EINVAL;
    *pitch = array ? array->pitch : side->pitch;
    *plane = *pitch * (array ? at_least_one(array->height) : side->height);
    *start = (array ? array->memory : (char *)side->address) + side->z * *plane + side->y * *pitch +
             side->x;
    return !array && !side->address ? -EINVAL : 0;
}

static enum sim_direction direction_of(const struct sim_copy3d *copy)
{
    if (!copy->to.array && !copy->from.array)
        return copy->direction;
    if (copy->to.array && copy->from.array)
        return SIM_DEVICE_TO_DEVICE;
    if (copy->direction == SIM_HOST_TO_HOST)
        return SIM_BY_ADDRESS;
    return copy->direction;
}

int sim_copy_3d(const struct sim_copy3d *copy)
{
    size_t to_pitch, to_plane, from_pitch, from_plane;
    char *to, *from;
    if (!copy->width || !copy->height || !copy->depth)
        return 0;
    int error = resolve(&copy->to, copy, &to, &to_pitch, &to_plane);
    if (!error)
        error = resolve(&copy->from, copy, &from, &from_pitch, &from_plane);
    for (size_t z = 0; !error && z < copy->depth; z++)
        error = sim_copy(to + z * to_plane, to_pitch, from + z * from_plane, from_pitch,
                         copy->width, copy->height, direction_of(copy));
    return error;
}
