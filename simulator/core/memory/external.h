/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of another interface (such as Vulkan), given as a descriptor. Devices of other interfaces
 * are not simulated: this is the memory behind the descriptor if it can be mapped, or else zeroed
 * pages. It uses no memory of this process's devices.
 */
#ifndef SIM_EXTERNAL_H
#define SIM_EXTERNAL_H

#include "memory.h"

struct sim_external;

/* Take over the descriptor. -EINVAL: it is invalid, or the size is 0. */
SIM_API int sim_external_import(int fd, size_t size, struct sim_external **out);
/* Map a part of it on the thread's device. Free with sim_release. -EINVAL: not within it. */
SIM_API int sim_external_map(const struct sim_external *external, size_t offset, size_t size,
                             void **out);
SIM_API void sim_external_destroy(struct sim_external *external);

#endif
