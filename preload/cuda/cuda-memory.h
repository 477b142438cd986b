/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How hooks record CUDA's own memory, of the runtime and of the driver alike:
 *
 *     mt_cuda_begin();                              // what the call asks the driver for is its own
 *     unsigned result = real(address, size);
 *     mt_cuda_end();
 *     mt_cuda_allocated(call, result, *address, size);
 *
 * An allocation is recorded after the call, a free before it: another thread may be given the
 * address at once. Any thread; errno is kept.
 */
#ifndef MT_PRELOAD_CUDA_MEMORY_H
#define MT_PRELOAD_CUDA_MEMORY_H

#include "trace-format/cuda-apis.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_CUDA_NO_FUNCTION 999u /* cudaErrorUnknown: the library has no such function */

struct mt_cuda_call {                    /* 16 bytes: it is passed in registers */
    unsigned (*get_device)(int *device); /* the caller's current one; NULL: not known */
    enum mt_cuda_api api;
    int told; /* 1 + the device that the call itself tells; 0: none */
};

/* Page-locked memory of the host is of no device. */
static inline struct mt_cuda_call mt_cuda_call_of(enum mt_cuda_api api,
                                                  unsigned (*get_device)(int *device))
{
    bool is_of_host = mt_cuda_api_space(api) == MT_SPACE_HOST;
    return (struct mt_cuda_call){.api = api, .get_device = is_of_host ? NULL : get_device};
}

extern _Thread_local int mt_cuda_depth __attribute__((tls_model("initial-exec")));

/* The subscription under which CUPTI has told of the call that this thread is in (cupti.h), 0:
 * none; and the one that holds. What was told under an older one may never be told to have ended.
 */
extern _Thread_local unsigned mt_cuda_told __attribute__((tls_model("initial-exec")));
extern _Atomic unsigned mt_cuda_subscription;

static inline void mt_cuda_begin(void)
{
    mt_cuda_depth++;
}

static inline void mt_cuda_end(void)
{
    mt_cuda_depth--;
}

/* From here to the block's end, also where a C++ exception ends it. */
static inline void mt_cuda_leave(const char *unused)
{
    (void)unused;
    mt_cuda_end();
}
#define MT_CUDA_INSIDE()                                                                           \
    __attribute__((cleanup(mt_cuda_leave), unused)) const char mt_cuda_inside = 0;                 \
    mt_cuda_begin()

/* A call has returned this: whether that, before anything was recorded, is since the program can use
 * no device; then there is nothing to record. The functions below ask themselves. */
int mt_cuda_failed(const char *function, unsigned result);

/* address: that of the memory, or its handle, by the call's space; passed by where it is, since
 * nothing is there when the call has failed. */
void mt_cuda_allocated(struct mt_cuda_call call, unsigned result, const void *address,
                       uint64_t size);
void mt_cuda_allocated_async(struct mt_cuda_call call, unsigned result, const void *address,
                             uint64_t size, const void *stream);

/* What a free needs after the call: nothing of it may be taken from the memory itself. */
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

/* Physical memory and its addresses. Unmapping cannot be undone by a failure that is told late. */
void mt_cuda_mapped(struct mt_cuda_call call, unsigned result, uint64_t address, uint64_t size,
                    uint64_t handle);
void mt_cuda_unmapping(struct mt_cuda_call call, uint64_t address, uint64_t size);

/* Memory that is there was copied or set. Their addresses may point anywhere into it, or be the
 * host's. Nothing is recorded in a process with PyTorch, whose blocks are not CUDA's. */
void mt_cuda_copied(enum mt_cuda_api api, unsigned result, uint64_t to, uint64_t from,
                    uint64_t size);
void mt_cuda_was_set(enum mt_cuda_api api, unsigned result, uint64_t address, uint64_t size);

/* Contexts and modules, also those that another call makes on the way; and streams. size: of a
 * module's image, 0: not known. */
void mt_cuda_object_made(struct mt_cuda_call call, unsigned result, const void *handle,
                         uint64_t size);
void mt_cuda_object_ending(struct mt_cuda_call call, uint64_t handle);

#endif
