/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast objects (cuMulticastCreate): they show memory of several devices at one place and take
 * none themselves. Memory that is bound to one is kept by it as by a mapping, and is recorded so:
 * under a name that the place in the object and the device make. Any thread; errno is kept.
 */
#ifndef MT_PRELOAD_MULTICAST_H
#define MT_PRELOAD_MULTICAST_H

#include "cuda-memory.h"

/* place: the object's handle and the offset in it; memory: a handle, or an address, by the call.
 * The memory's device is asked for where call.told is 0. */
void mt_cuda_bound(struct mt_cuda_call call, unsigned result, uint64_t place, uint64_t size,
                   uint64_t memory);

/* call.told: the device. */
void mt_cuda_unbinding(struct mt_cuda_call call, uint64_t place, uint64_t size);

#endif
