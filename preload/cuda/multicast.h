/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast objects (cuMulticastCreate): they show memory of several devices at one place and take
 * none themselves. Binding memory to one keeps the memory as a mapping does, so it is recorded as a
 * mapping, under a name made of the place in the object and the device. Any thread; keeps errno.
 */
#ifndef MT_PRELOAD_MULTICAST_H
#define MT_PRELOAD_MULTICAST_H

#include "cuda-memory.h"

/* Record a binding. place: the object's handle plus the offset in it; memory: a handle or an
 * address, by the call. If call.told is 0, ask the driver for the memory's device. */
void mt_cuda_bound(struct mt_cuda_call call, unsigned result, uint64_t place, uint64_t size,
                   uint64_t memory);

/* Record an unbinding. call.told: the device. */
void mt_cuda_unbinding(struct mt_cuda_call call, uint64_t place, uint64_t size);

#endif
