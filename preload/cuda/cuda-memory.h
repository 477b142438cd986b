/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How hooks of the runtime and of the driver record CUDA's own memory:
 *
 *     unsigned result;
 *     {
 *         MT_CUDA_INSIDE();                         // memory allocated within is its own
 *         result = real(address, size);
 *     }
 *     mt_cuda_allocated(call, result, *address, size);
 *
 * Record an allocation after the call and a free before it: another thread may get the address at
 * once. Any thread; keeps errno.
 */
#ifndef MT_PRELOAD_CUDA_MEMORY_H
#define MT_PRELOAD_CUDA_MEMORY_H

#include "preload/host/inside.h"
#include "trace-format/cuda-apis.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_CUDA_NO_MEMORY 2u     /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */
#define MT_CUDA_NO_FUNCTION 999u /* cudaErrorUnknown: the library lacks the function */

struct mt_cuda_call {                    /* 16 bytes: it is passed in registers */
    unsigned (*get_device)(int *device); /* the current device; NULL: unknown */
    enum mt_cuda_api api;
    int device_plus_1; /* 1 + the device that the call specifies; 0: none */
};

/* Return a call. Page-locked memory of the host belongs to no device. */
static inline struct mt_cuda_call mt_cuda_call_of(enum mt_cuda_api api,
                                                  unsigned (*get_device)(int *device))
{
    bool is_of_host = mt_cuda_api_space(api) == MT_SPACE_HOST;
    return (struct mt_cuda_call){.api = api, .get_device = is_of_host ? NULL : get_device};
}

extern _Thread_local struct mt_inside mt_cuda_calls __attribute__((tls_model("initial-exec")));

/* Where the hook that records next was called from; NULL: unknown. */
extern _Thread_local const void *mt_cuda_caller __attribute__((tls_model("initial-exec")));

/* Return whether this thread is inside a CUDA call. */
bool mt_cuda_is_inside(void);

/* The subscription under which CUPTI reported the start of this thread's call (cupti.h), 0 if none,
 * and the valid subscription. CUPTI may never report the end of a call from an older subscription.
 */
extern _Thread_local unsigned mt_cuda_reported __attribute__((tls_model("initial-exec")));
extern _Atomic unsigned mt_cuda_subscription;

/* Leave the call at the end of the block, even if a C++ exception ends it. If a jump ends it, the
 * thread's next call notices. */
static inline void mt_cuda_leave(const struct mt_call_mark *mark)
{
    mt_inside_end(&mt_cuda_calls, mark);
}
#define MT_CUDA_INSIDE()                                                                           \
    __attribute__((cleanup(mt_cuda_leave))) struct mt_call_mark mt_cuda_mark;                      \
    mt_inside_begin(&mt_cuda_calls, &mt_cuda_mark)

/* Return whether a call failed because the program can use no device, and nothing was recorded
 * before: then there is nothing to record. The functions below check this themselves. */
bool mt_cuda_failed(const char *function, unsigned result);

/* Record an allocation. address points to the memory's address or its handle, as the call's space
 * says; it is not read if the call has failed. */
void mt_cuda_allocated(struct mt_cuda_call call, unsigned result, const void *address,
                       uint64_t size);
void mt_cuda_allocated_async(struct mt_cuda_call call, unsigned result, const void *address,
                             uint64_t size, const void *stream);

/* After mt_cuda_allocated of page-locked memory: record what PyTorch requested of it, if known. */
void mt_cuda_host_requested(unsigned result, const void *address, uint64_t size);

/* After mt_cuda_allocated of pitched memory: record what was requested, without the padding. */
void mt_cuda_requested(unsigned result, const void *address, uint64_t size, uint64_t requested);

/* A free's data for after the call, read before it, while the memory exists. */
struct mt_cuda_free {
    struct mt_cuda_call call;
    uint64_t address;
    int device;
    bool is_recorded;
};

struct mt_cuda_free mt_cuda_freeing(struct mt_cuda_call call, uint64_t address);
struct mt_cuda_free mt_cuda_freeing_async(struct mt_cuda_call call, uint64_t address,
                                          const void *stream);
void mt_cuda_not_freed(const struct mt_cuda_free *free, unsigned result);

static inline void mt_cuda_freed(const struct mt_cuda_free *free, unsigned result)
{
    if (result)
        mt_cuda_not_freed(free, result);
}

/* Record physical memory and its mappings. An unmapping that fails later is not undone. */
void mt_cuda_mapped(struct mt_cuda_call call, unsigned result, uint64_t address, uint64_t size,
                    uint64_t handle);
void mt_cuda_unmapping(struct mt_cuda_call call, uint64_t address, uint64_t size);

/* Note a memory pool that the program has created. */
struct mt_physical_properties;
void mt_cuda_pool_created(struct mt_cuda_call call, unsigned result, void *const *pool,
                          const struct mt_physical_properties *wanted);

/* Record what a memory pool has, after a call that changed it or before one that will: is_set: the
 * call has set its release threshold. The pools of a device are recorded when it has no memory
 * left, too. */
void mt_cuda_pool(struct mt_cuda_call call, unsigned result, uint64_t pool, bool is_set);

/* Record that memory was copied or set. The addresses may point anywhere into a block, or be the
 * host's. Nothing is recorded in a process with PyTorch, whose blocks are not CUDA's. */
void mt_cuda_copied(enum mt_cuda_api api, unsigned result, uint64_t to, uint64_t from,
                    uint64_t size);
void mt_cuda_was_set(enum mt_cuda_api api, unsigned result, uint64_t address, uint64_t size);

/* Record contexts and CUDA modules, also those that another call creates internally, and streams.
 * size is that of a module's image, 0 if unknown. */
void mt_cuda_object_made(struct mt_cuda_call call, unsigned result, const void *handle,
                         uint64_t size);
void mt_cuda_object_ending(struct mt_cuda_call call, uint64_t handle);

#endif
