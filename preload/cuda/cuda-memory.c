/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-memory.h"
#include "preload/holders/holders.h"
#include "preload/holders/reserving.h"
#include "preload/hooks/cuda-types.h"
#include "preload/host/message.h"
#include "preload/host/no-cancel.h"
#include "preload/loader/cuda-pools.h"
#include "preload/modules/read-objects.h"
#include "preload/record/recorder.h"
#include "preload/stacks/native-stack.h"
#include "preload/stacks/python-stack.h"
#include "preload/torch/real.h"
#include "preload/uses/uses.h"
#include "preload/write/device-watch.h"
#include "trace-format/cuda-errors.h"
#include "trace-format/likely.h"
#include "trace-format/settings/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If a program can use no device, there is nothing to record, and memtap run reports why. */

/* Sign memtap run's manifest. The settings are not read yet: only a recording reads them. */
static void sign_why(const char *function, unsigned result)
{
    MT_NO_CANCEL();
    char text[80];
    snprintf(text, sizeof text, "!%u %s", result, function);
    mt_manifest_sign_at(mt_manifest_open_early(), text);
}

/* Return whether a call failed for that reason before anything was recorded. Report the process's
 * first such call to memtap run. Any thread; keeps errno. */
static bool cannot_have_device(const char *function, unsigned result)
{
    static _Atomic bool is_written;
    if (atomic_load(&mt_state) != MT_IDLE || !mt_cuda_no_device_why(result))
        return false;
    int saved = errno;
    if (!atomic_exchange(&is_written, true))
        sign_why(function, result);
    errno = saved;
    return true;
}

_Thread_local struct mt_inside mt_cuda_calls __attribute__((tls_model("initial-exec")));
_Thread_local const void *mt_cuda_caller __attribute__((tls_model("initial-exec")));
_Thread_local unsigned mt_cuda_reported __attribute__((tls_model("initial-exec")));
_Atomic unsigned mt_cuda_subscription;

/* Return the thread's call around this one, or NULL. Calls left by a jump are dropped. */
static __attribute__((noinline, cold)) struct mt_call *find_call(void)
{
    const struct mt_call_mark here = {0};
    uint64_t left = mt_cuda_calls.left;
    if (left)
        mt_recorder_lose(left);
    mt_cuda_calls.left = 0;
    return mt_inside_find(&mt_cuda_calls, &here);
}

bool mt_cuda_is_inside(void)
{
    return mt_inside_may_be(&mt_cuda_calls) && find_call();
}

static __attribute__((noinline, cold)) bool is_of_call(void)
{
    struct mt_call *call = find_call();
    if (call)
        call->within++;
    return call;
}

/* Return whether the thread is in a call that is, or will be, an event of its own. */
static inline bool is_inside(void)
{
    return (mt_inside_may_be(&mt_cuda_calls) && is_of_call()) ||
           (mt_cuda_reported && mt_cuda_reported == mt_cuda_subscription);
}

/* Return the current device. It is not cached: a thread may change its device at any time. */
static int device_of(const struct mt_cuda_call *call)
{
    int device = MT_NO_DEVICE; /* a replacement of CUDA may succeed without writing one */
    if (call->device_plus_1)
        return call->device_plus_1 - 1;
    if (!call->get_device)
        return MT_NO_DEVICE;
    return call->get_device(&device) ? MT_NO_DEVICE : device;
}

/* Query the device before entering the thread: that may call the driver's own hooks. */
static inline struct mt_thread *enter(const struct mt_cuda_call *call, int *device)
{
    {
        MT_CUDA_INSIDE();
        *device = device_of(call);
    }
    return mt_enter();
}

static MT_ALWAYS_INLINE uint32_t with_caller(uint32_t stack)
{
    stack = mt_stack_with_caller(stack, mt_cuda_caller);
    mt_cuda_caller = NULL;
    return stack;
}

static MT_ALWAYS_INLINE uint32_t stack_of(struct mt_thread *self)
{
    uint32_t stack = mt_thread_stack(self);
    return mt_native_callers_are_named ? with_caller(stack) : stack;
}

/* Note the request, leave the thread, and search for holders if memory grows. */
static __attribute__((noinline)) void leave_watched(struct mt_thread *self, uint64_t size)
{
    bool is_growing = mt_reserving_note(self, size);
    mt_leave(self);
    if (is_growing)
        mt_reserving_search();
}

static MT_ALWAYS_INLINE void record(const struct mt_cuda_call *call, unsigned kind,
                                    const uint64_t arguments[static MT_EVENT_ARGS])
{
    int device;
    mt_start();
    mt_watch_hint(); /* before the event's time: device-watch.c relies on it */
    struct mt_thread *self = mt_is_recording() ? enter(call, &device) : NULL;
    if (!self)
        return;
    uint32_t stack = stack_of(self);
    mt_read_objects(self);
    mt_record(self, kind, device, stack, arguments);
    if ((kind == MT_CUDA_MALLOC || kind == MT_CUDA_MAP) && mt_reserving_is_watched)
        leave_watched(self, arguments[1]);
    else
        mt_leave(self);
}

/* Record memory that is new. Its uses are noted last: so they cost those who do not want them
 * least. */
static MT_ALWAYS_INLINE void record_new(const struct mt_cuda_call *call, unsigned kind,
                                        const uint64_t arguments[static MT_EVENT_ARGS])
{
    record(call, kind, arguments);
    if (mt_uses_are_on())
        mt_uses_note(arguments[0], arguments[1]);
}

bool mt_cuda_failed(const char *function, unsigned result)
{
    return result && !is_inside() && cannot_have_device(function, result);
}

/* Look up the name only if the call has failed. */
static inline bool has_no_device(enum mt_cuda_api api, unsigned result)
{
    return MT_UNLIKELY(result) && mt_cuda_failed(mt_cuda_api_name(api), result);
}

static void record_pool(const struct mt_cuda_pool_state *state)
{
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    mt_record(self, MT_CUDA_POOL, state->device, state->stack,
              MT_ARGS(state->pool, state->threshold, state->reserved, state->used));
    mt_record(self, MT_CUDA_POOL_HIGH, state->device, 0,
              MT_ARGS(state->pool, state->most_reserved, state->most_used));
    mt_leave(self);
}

void mt_cuda_pool(struct mt_cuda_call call, unsigned result, uint64_t pool, bool is_set)
{
    struct mt_cuda_pool_state state;
    uint32_t stack = 0;
    int device, saved = errno;
    if (result || !pool || is_inside())
        return;
    mt_start();
    struct mt_thread *self = mt_is_recording() ? enter(&call, &device) : NULL;
    if (!self)
        return;
    if (is_set)
        stack = stack_of(self);
    mt_leave(self);
    {
        MT_CUDA_INSIDE();
        if (!mt_cuda_pool_read(&state, pool, device, is_set, stack))
            state.pool = MT_STREAM_UNKNOWN;
    }
    if (state.pool != MT_STREAM_UNKNOWN)
        record_pool(&state);
    errno = saved;
}

void mt_cuda_pool_created(struct mt_cuda_call call, unsigned result, void *const *pool,
                          const struct mt_physical_properties *wanted)
{
    if (result || wanted->location_type != MT_LOCATION_DEVICE)
        return;
    mt_cuda_pools_add((uint64_t)(uintptr_t)*pool, wanted->location);
    mt_cuda_pool(call, result, (uint64_t)(uintptr_t)*pool, false);
}

/* Record the pools of a device without memory. The call is passed by value: with its address taken,
 * the caller would keep it in memory instead of in registers. */
static __attribute__((noinline, cold)) void record_pools(struct mt_cuda_call call)
{
    struct mt_cuda_pool_state state;
    unsigned next = 0;
    int saved = errno, device = MT_NO_DEVICE;
    mt_start();
    {
        MT_CUDA_INSIDE();
        device = device_of(&call);
    }
    bool is_found = mt_is_recording() && (unsigned)device < 64;
    while (is_found) {
        {
            MT_CUDA_INSIDE();
            is_found = mt_cuda_pools_next(&state, 1ull << device, &next);
        }
        if (is_found)
            record_pool(&state);
    }
    errno = saved;
}

static uint64_t read_word(const void *where)
{
    uint64_t value;
    memcpy(&value, where, sizeof value);
    return value;
}

/* PyTorch frees what it has cached, and tries again. */
static __attribute__((noinline, cold)) void search_holders(const struct mt_cuda_call *call,
                                                           unsigned result)
{
    if (result == MT_CUDA_NO_MEMORY && mt_cuda_api_space(call->api) != MT_SPACE_HOST &&
        !MT_REAL_NOW(report_memory))
        mt_holders_search(MT_HOLDERS_OOM);
}

void mt_cuda_allocated(struct mt_cuda_call call, unsigned result, const void *address,
                       uint64_t size)
{
    if (is_inside() || has_no_device(call.api, result))
        return;
    if (result == MT_CUDA_NO_MEMORY && mt_cuda_api_space(call.api) != MT_SPACE_HOST)
        record_pools(call);
    uint64_t at = result ? 0 : read_word(address);
    record_new(&call, MT_CUDA_MALLOC, MT_ARGS(at, size, result, call.api));
    if (MT_UNLIKELY(result))
        search_holders(&call, result);
}

void mt_cuda_allocated_async(struct mt_cuda_call call, unsigned result, const void *address,
                             uint64_t size, const void *stream)
{
    if (result) {
        mt_cuda_allocated(call, result, address, size);
        return;
    }
    if (!is_inside())
        record_new(&call, MT_CUDA_MALLOC_ASYNC,
                   MT_ARGS(read_word(address), size, (uint64_t)(uintptr_t)stream, call.api));
}

/* Record how much of memory that is new was requested. */
static void record_request(unsigned result, const void *address, uint64_t requested)
{
    if (result || is_inside())
        return;
    struct mt_thread *self = mt_is_recording() ? mt_enter() : NULL;
    if (!self)
        return;
    mt_record(self, MT_HOST_REQUEST, MT_NO_DEVICE, 0, MT_ARGS(read_word(address), requested));
    mt_leave(self);
}

/* PyTorch's allocator of page-locked memory rounds up to a power of two, or beyond a threshold not
 * at all. It may also allocate memory for later requests. */
static bool is_rounded_to(uint64_t requested, uint64_t size)
{
    bool is_power = !(size & (size - 1));
    return requested == size || (is_power && requested < size && requested > size / 2);
}

void mt_cuda_host_requested(unsigned result, const void *address, uint64_t size)
{
    uint64_t requested = mt_pinned_request;
    mt_pinned_request = 0;
    if (requested && is_rounded_to(requested, size))
        record_request(result, address, requested);
}

void mt_cuda_requested(unsigned result, const void *address, uint64_t size, uint64_t requested)
{
    if (requested < size)
        record_request(result, address, requested);
}

/* Freeing NULL is allowed and does nothing. A free alone does not start a recording. */
static MT_ALWAYS_INLINE struct mt_cuda_free
record_free(struct mt_cuda_call call, uint64_t address, unsigned kind,
            const uint64_t arguments[static MT_EVENT_ARGS])
{
    int device = MT_NO_DEVICE;
    bool may_be_recorded = !is_inside() && address && mt_is_recording();
    struct mt_thread *self = may_be_recorded ? enter(&call, &device) : NULL;
    if (self) {
        uint32_t stack = mt_python_stack(self);
        mt_read_objects(self);
        mt_record(self, kind, device, stack, arguments);
        mt_leave(self);
    }
    return (struct mt_cuda_free){call, address, device, self != NULL};
}

struct mt_cuda_free mt_cuda_freeing(struct mt_cuda_call call, uint64_t address)
{
    return record_free(call, address, MT_CUDA_FREE, MT_ARGS(address, call.api));
}

struct mt_cuda_free mt_cuda_freeing_async(struct mt_cuda_call call, uint64_t address,
                                          const void *stream)
{
    return record_free(call, address, MT_CUDA_FREE_ASYNC,
                       MT_ARGS(address, (uint64_t)(uintptr_t)stream, call.api));
}

void mt_cuda_not_freed(const struct mt_cuda_free *free, unsigned result)
{
    if (has_no_device(free->call.api, result))
        return;
    struct mt_thread *self = free->is_recorded ? mt_enter() : NULL;
    if (!self)
        return;
    mt_record(self, MT_CUDA_FREE_FAILED, free->device, 0,
              MT_ARGS(free->address, result, free->call.api));
    mt_leave(self);
}

void mt_cuda_mapped(struct mt_cuda_call call, unsigned result, uint64_t address, uint64_t size,
                    uint64_t handle)
{
    if (!is_inside() && !result)
        record_new(&call, MT_CUDA_MAP, MT_ARGS(address, size, handle, call.api));
}

void mt_cuda_unmapping(struct mt_cuda_call call, uint64_t address, uint64_t size)
{
    if (!is_inside() && mt_is_recording())
        record(&call, MT_CUDA_UNMAP, MT_ARGS(address, size, call.api));
}

/* Record a use of memory, without stack and device: only the time matters. */
static MT_ALWAYS_INLINE void record_touch(unsigned kind, unsigned result,
                                          const uint64_t arguments[static MT_EVENT_ARGS])
{
    struct mt_thread *self =
        result || is_inside() || MT_REAL_NOW(report_memory) ? NULL : mt_enter();
    if (!self)
        return;
    mt_record(self, kind, MT_NO_DEVICE, 0, arguments);
    mt_leave(self);
}

void mt_cuda_copied(enum mt_cuda_api api, unsigned result, uint64_t to, uint64_t from,
                    uint64_t size)
{
    has_no_device(api, result);
    record_touch(MT_CUDA_COPY, result, MT_ARGS(to, from, size, api));
    if (mt_uses_are_on())
        mt_uses_copy(to, from, size);
}

void mt_cuda_was_set(enum mt_cuda_api api, unsigned result, uint64_t address, uint64_t size)
{
    has_no_device(api, result);
    record_touch(MT_CUDA_SET, result, MT_ARGS(address, size, api));
    if (mt_uses_are_on())
        mt_uses_copy(address, 0, size);
}

/* Return whether the runtime's call creates the stream by a driver call inside, which records it.
 */
static bool is_made_inside(const struct mt_cuda_call *call)
{
    return mt_cuda_is_inside() && mt_cuda_api_space(call->api) == MT_SPACE_STREAM;
}

void mt_cuda_object_made(struct mt_cuda_call call, unsigned result, const void *handle,
                         uint64_t size)
{
    has_no_device(call.api, result);
    if (!result && !is_made_inside(&call))
        record(&call, MT_CUDA_OBJECT, MT_ARGS(read_word(handle), call.api, size));
}

void mt_cuda_object_ending(struct mt_cuda_call call, uint64_t handle)
{
    if (mt_uses_are_on())
        mt_uses_forget_kernels();
    if (mt_is_recording() && !is_made_inside(&call))
        record(&call, MT_CUDA_OBJECT_GONE, MT_ARGS(handle, call.api));
}
