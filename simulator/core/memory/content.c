/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents. Host memory is committed only where a program could notice the difference: a page is
 * written only if it changes, and large contents are not written at all.
 */
#include "content.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "../values/known.h"
#include "memory.h"
#include "range.h"
#include "vmm.h"
#include "written.h"

enum { MOST_OBJECT = 64 << 20 };

size_t sim_copy_limit(void)
{
    static _Atomic size_t limit = SIZE_MAX;
    if (limit == SIZE_MAX)
        limit = sim_environment_size("CUDASIM_COPY_LIMIT", 1 << 20);
    return limit;
}

size_t sim_object_limit(void)
{
    size_t limit = sim_copy_limit();
    return limit && limit < MOST_OBJECT ? MOST_OBJECT : limit;
}

/* Copy page by page, and only pages that differ: reading commits nothing, writing does. */
static void copy_differing(char *to, const char *from, size_t size)
{
    while (size) {
        size_t part = sim_to_page_end(to, size);
        if (memcmp(to, from, part)) {
            sim_mark_written(to, part);
            memmove(to, from, part);
        }
        to += part;
        from += part;
        size -= part;
    }
}

/* Copy the parts of a large piece of a device that have contents; the piece may be an object. */
static void copy_written(char *to, const char *from, size_t size)
{
    for (size_t part; size; to += part, from += part, size -= part) {
        part = size < 16 * SIM_HOST_PAGE ? size : 16 * SIM_HOST_PAGE;
        if (sim_is_written(from, part))
            copy_differing(to, from, part);
    }
}

/* Return whether a device may use all of it. */
static bool on_device(const void *address, size_t size)
{
    uintptr_t start = (uintptr_t)address;
    bool good;
    sim_range_lock();
    struct sim_range *range = sim_range_at(start);
    if (!range)
        good = false;
    else if (range->kind == SIM_RESERVED)
        good = sim_mapped(range, start, size);
    else
        good = size <= range->size - (start - range->start);
    sim_range_unlock();
    return good;
}

static bool is_device_kind(const void *address)
{
    struct sim_range range;
    return sim_find(address, &range) && (range.kind & (SIM_DEVICE | SIM_RESERVED));
}

static enum sim_direction direction_of(const void *to, const void *from)
{
    if (is_device_kind(from))
        return is_device_kind(to) ? SIM_DEVICE_TO_DEVICE : SIM_DEVICE_TO_HOST;
    return is_device_kind(to) ? SIM_HOST_TO_DEVICE : SIM_HOST_TO_HOST;
}

static size_t span(size_t pitch, size_t width, size_t height)
{
    return (height - 1) * pitch + width;
}

/* What thrust's searches copy from the device: the pair of a bool or a number, and an index. */
enum { FOUND_PAIR = 2 * sizeof(int64_t) };

/* Provide what a kernel that did not run would have written. Return false if it is unknown. */
static bool give_answer(char *to, size_t size)
{
    static const int64_t found[] = {1, 0};
    if (sim_answer.finds && size == FOUND_PAIR) {
        memcpy(to, found, FOUND_PAIR);
        return true;
    }
    if (!sim_answer.expected || size > sizeof(int64_t))
        return false;
    memcpy(to, &sim_answer.number, size); /* little-endian: the low bytes */
    sim_answer.expected = false;
    return true;
}

static int copy(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                size_t height, enum sim_direction direction, bool is_object)
{
    bool to_device, from_device;
    if (!width || !height)
        return 0;
    if (height > 1 && (to_pitch < width || from_pitch < width))
        return -EINVAL;
    if (direction == SIM_BY_ADDRESS)
        direction = direction_of(to, from);
    to_device = direction == SIM_HOST_TO_DEVICE || direction == SIM_DEVICE_TO_DEVICE;
    from_device = direction == SIM_DEVICE_TO_HOST || direction == SIM_DEVICE_TO_DEVICE;
    if ((to_device && !on_device(to, span(to_pitch, width, height))) ||
        (from_device && !on_device(from, span(from_pitch, width, height))))
        return -EINVAL;
    if (to_device && width * height > (is_object ? sim_object_limit() : sim_copy_limit())) {
        if (from_device && height == 1 && width <= sim_object_limit())
            copy_written(to, from, width);
        return 0;
    }
    for (size_t row = 0; row < height; row++) {
        char *target = (char *)to + row * to_pitch;
        const char *source = (const char *)from + row * from_pitch;
        if (to_device)
            copy_differing(target, source, width);
        else if (!SIM_UNLIKELY(sim_answer.expected || sim_answer.finds) || height > 1 ||
                 !give_answer(target, width))
            memmove(target, source, width);
    }
    return 0;
}

int sim_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
             size_t height, enum sim_direction direction)
{
    return copy(to, to_pitch, from, from_pitch, width, height, direction, false);
}

int sim_copy_object(void *to, const void *from, size_t size)
{
    return copy(to, size, from, size, size, 1, SIM_BY_ADDRESS, true);
}

static void fill(char *to, unsigned value, size_t element, size_t count)
{
    if (element == 1) {
        memset(to, (int)value, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * element, &value, element); /* little-endian: the low bytes */
}

int sim_set(void *to, unsigned value, size_t element, size_t count)
{
    size_t size;
    if (!count)
        return 0;
    if (__builtin_mul_overflow(element, count, &size) || !on_device(to, size))
        return -EINVAL;
    if (element < sizeof(value))
        value &= (1u << (8 * element)) - 1;
    if (!value) {
        sim_clear(to, size);
    } else if (size <= sim_copy_limit()) {
        sim_mark_written(to, size);
        fill(to, value, element, count);
    }
    return 0;
}
