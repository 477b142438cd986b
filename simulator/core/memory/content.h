/* SPDX-License-Identifier: Apache-2.0 */
/* What memory holds. */
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
 * Copies `height` rows of `width` bytes. What comes from a device is always copied; what goes to
 * one only up to CUDASIM_COPY_LIMIT bytes in all. -EINVAL: the device side is no device memory.
 */
SIM_API int sim_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, enum sim_direction direction);
/* CUDASIM_COPY_LIMIT: contents beyond this many bytes are not moved. */
SIM_API size_t sim_copy_limit(void);
/* Sets `count` elements of `element` (1, 2 or 4) bytes; larger ones only if they are zero. */
SIM_API int sim_set(void *to, unsigned value, size_t element, size_t count);
/* Makes our own memory read as zero and commits none of it. */
void sim_clear(void *address, size_t size);

#endif
