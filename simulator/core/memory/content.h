/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of memory. */
#ifndef SIM_CONTENT_H
#define SIM_CONTENT_H

#include "../base/base.h"

enum sim_direction {
    SIM_HOST_TO_HOST,
    SIM_HOST_TO_DEVICE,
    SIM_DEVICE_TO_HOST,
    SIM_DEVICE_TO_DEVICE,
    SIM_BY_ADDRESS
};

/*
 * Copy `height` rows of `width` bytes. Copies from a device are always made; copies to one only up
 * to CUDASIM_COPY_LIMIT bytes in total. -EINVAL: the device side is not device memory.
 */
SIM_API int sim_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, enum sim_direction direction);
/* Copy one row up to sim_object_limit(), between devices or from and to the host. */
SIM_API int sim_copy_object(void *to, const void *from, size_t size);
/* Return CUDASIM_COPY_LIMIT: larger contents are not copied. */
SIM_API size_t sim_copy_limit(void);
/* Return the limit for a row of bytes, which may be an object that Python has pickled: its reader
 * needs all of it. */
SIM_API size_t sim_object_limit(void);
/* Set `count` elements of `element` (1, 2 or 4) bytes; larger fills only if they are zero. */
SIM_API int sim_set(void *to, unsigned value, size_t element, size_t count);
enum { SIM_HOST_PAGE = 4096 };
/* Return the bytes from `address` to the end of its page, at most `size`. */
static inline size_t sim_to_page_end(const char *address, size_t size)
{
    size_t rest = SIM_HOST_PAGE - ((uintptr_t)address & (SIM_HOST_PAGE - 1));
    return rest < size ? rest : size;
}

/* Clear our own memory: it reads as zero and nothing of it is committed. */
void sim_clear(void *address, size_t size);
/* Clear memory and keep its pages. */
void sim_clear_in_place(void *address, size_t size);

#endif
