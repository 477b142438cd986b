/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hooks record of a call, by the last column of hooks-memory.h and hooks-copies.h: before it
 * and, given its `result`, after it. api is without MT_API_. The including file defines
 * CALL_OF(api), a call on the caller's current device.
 */
#ifndef MT_PRELOAD_HOOK_RECORDS_H
#define MT_PRELOAD_HOOK_RECORDS_H

#include "cuda-memory.h"
#include "cuda-sizes.h"
#include "multicast.h"
#include "preload/hooks/hooks.h"
#include "preload/loader/cuda-pools.h"
#include "preload/record/recorder.h"

#define NUMBER(address) ((uint64_t)(uintptr_t)(address))
#define CALL(api) CALL_OF(MT_API_##api)
/* A call on the device that it specifies; -1: none. */
#define CALL_ON(api_, device)                                                                      \
    ((struct mt_cuda_call){.api = MT_API_##api_, .device_plus_1 = (device) + 1})

/* Note the hook's caller just before recording: calls within CUDA's note theirs. */
#define NOTE_CALLER() (mt_cuda_caller = __builtin_return_address(0))

/* Memory. address points to it, or to its handle. */
#define BEFORE_ALLOCATED(api, address, size)
#define AFTER_ALLOCATED(api, address, size) mt_cuda_allocated(CALL(api), result, address, size)
#define BEFORE_ALLOCATED_ON(api, device, address, size)
#define AFTER_ALLOCATED_ON(api, device, address, size)                                             \
    mt_cuda_allocated(CALL_ON(api, device), result, address, size)
#define BEFORE_ALLOCATED_PINNED(api, address, size)
#define AFTER_ALLOCATED_PINNED(api, address, size)                                                 \
    mt_cuda_allocated(CALL(api), result, address, size);                                           \
    mt_cuda_host_requested(result, address, size)
#define BEFORE_ALLOCATED_PADDED(api, address, size, requested)
#define AFTER_ALLOCATED_PADDED(api, address, size, requested)                                      \
    mt_cuda_allocated(CALL(api), result, address, size);                                           \
    mt_cuda_requested(result, address, size, requested)
#define BEFORE_ALLOCATED_ASYNC(api, address, size, stream)
#define AFTER_ALLOCATED_ASYNC(api, address, size, stream)                                          \
    mt_cuda_allocated_async(CALL(api), result, address, size, stream)
#define BEFORE_FREED(api, address)                                                                 \
    struct mt_cuda_free free = mt_cuda_freeing(CALL(api), NUMBER(address))
#define AFTER_FREED(api, address) mt_cuda_freed(&free, result)
#define BEFORE_FREED_ASYNC(api, address, stream)                                                   \
    struct mt_cuda_free free = mt_cuda_freeing_async(CALL(api), NUMBER(address), stream)
#define AFTER_FREED_ASYNC(api, address, stream) mt_cuda_freed(&free, result)

/* Mappings of memory, and bindings to multicast objects. */
#define BEFORE_MAPPED(api, address, size, handle)
#define AFTER_MAPPED(api, address, size, handle)                                                   \
    mt_cuda_mapped(CALL(api), result, address, size, handle)
#define BEFORE_UNMAPPED(api, address, size)                                                        \
    (NOTE_CALLER(), mt_cuda_unmapping(CALL(api), address, size))
#define AFTER_UNMAPPED(api, address, size)
#define BEFORE_BOUND(api, device, place, size, memory)
#define AFTER_BOUND(api, device, place, size, memory)                                              \
    mt_cuda_bound(CALL_ON(api, device), result, place, size, memory)
#define BEFORE_UNBOUND(api, device, place, size)                                                   \
    (NOTE_CALLER(), mt_cuda_unbinding(CALL_ON(api, device), place, size))
#define AFTER_UNBOUND(api, device, place, size)

/* Memory pools. The highest figures are recorded before they are reset, or gone. */
#define BEFORE_POOL_CREATED(pool, wanted)
#define AFTER_POOL_CREATED(pool, wanted)                                                           \
    mt_cuda_pool_created(CALL_OF(MT_API_LIMIT), result, pool, wanted)
#define BEFORE_POOL_ENDED(pool)                                                                    \
    mt_cuda_pool(CALL_OF(MT_API_LIMIT), 0, NUMBER(pool), false);                                   \
    mt_cuda_pools_remove(NUMBER(pool))
#define AFTER_POOL_ENDED(pool)
#define BEFORE_POOL_SET(pool, attribute)                                                           \
    if ((attribute) == MT_POOL_MOST_RESERVED || (attribute) == MT_POOL_MOST_USED)                  \
    mt_cuda_pool(CALL_OF(MT_API_LIMIT), 0, NUMBER(pool), false)
#define AFTER_POOL_SET(pool, attribute)                                                            \
    if ((attribute) == MT_POOL_THRESHOLD)                                                          \
    mt_cuda_pool(CALL_OF(MT_API_LIMIT), result, NUMBER(pool), true)
#define BEFORE_POOL_TRIMMED(pool) mt_cuda_pool(CALL_OF(MT_API_LIMIT), 0, NUMBER(pool), false)
#define AFTER_POOL_TRIMMED(pool) mt_cuda_pool(CALL_OF(MT_API_LIMIT), result, NUMBER(pool), false)

/* Contexts, CUDA modules, streams. bytes is the size of code, evaluated after a successful call. */
#define BEFORE_MADE(api, object, bytes)
#define AFTER_MADE(api, object, bytes)                                                             \
    mt_cuda_object_made(CALL(api), result, object, result ? 0 : bytes)
#define BEFORE_MADE_ON(api, device, object)
#define AFTER_MADE_ON(api, device, object)                                                         \
    mt_cuda_object_made(CALL_ON(api, device), result, object, 0)
#define BEFORE_ENDED(api, handle) (NOTE_CALLER(), mt_cuda_object_ending(CALL(api), NUMBER(handle)))
#define AFTER_ENDED(api, handle)

/* Copies and sets. */
#define BEFORE_COPIED(api, to, from, size)
#define AFTER_COPIED(api, to, from, size)                                                          \
    mt_cuda_copied(MT_API_##api, result, NUMBER(to), NUMBER(from), size)
#define BEFORE_WAS_SET(api, at, size)
#define AFTER_WAS_SET(api, at, size) mt_cuda_was_set(MT_API_##api, result, NUMBER(at), size)

/* The start and the end of a graph's capture. */
#define BEFORE_CAPTURE_BEGAN(stream)
#define AFTER_CAPTURE_BEGAN(stream) mt_capture_began(result, stream)
#define BEFORE_CAPTURE_ENDED(stream)
#define AFTER_CAPTURE_ENDED(stream) mt_capture_ended(stream)

/* PyTorch and others look up functions of the driver: they get our hooks (driver.h). */
#define BEFORE_LOOKED_UP(symbol, version, flags, function)
#define AFTER_LOOKED_UP(symbol, version, flags, function)                                          \
    if (!result)                                                                                   \
    mt_driver_wrap(symbol, version, flags, function)

/* Note a capture (capture.c): within it, memory belongs to a CUDA graph. */
void mt_capture_began(unsigned result, void *stream);
void mt_capture_ended(void *stream);

#endif
