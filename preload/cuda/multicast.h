/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast objects (cuMulticastCreate) map memory of several devices at one place and use none
 * themselves. Binding memory to one keeps it alive like a mapping, so it is recorded as a mapping,
 * under a name made of the place in the object and the device. Any thread; keeps errno.
 */
#ifndef MT_PRELOAD_MULTICAST_H
#define MT_PRELOAD_MULTICAST_H

#include "cuda-memory.h"

/* Record a binding. place is the object's handle plus the offset in it; memory is a handle or an
 * address, as the call says. If the call specifies no device, the driver is queried for the
 * memory's. */
void mt_cuda_bound(struct mt_cuda_call call, unsigned result, uint64_t place, uint64_t size,
                   uint64_t memory);

/* Record an unbinding on the device that the call specifies. */
void mt_cuda_unbinding(struct mt_cuda_call call, uint64_t place, uint64_t size);

#endif
