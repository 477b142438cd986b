/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work is done when it is submitted: nothing is ever in flight on a stream. Work takes no time, so
 * an event's time is its number in ms: an autotuner that measures finds all choices equal, and
 * finishes soon.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../device/device.h"
#include "../device/trace.h"
#include "../memory/pool.h"
#include "capture.h"
#include "stream.h"

enum { DISABLE_TIMING = 2 };

static struct sim_stream default_stream = {.id = 1};

uint64_t sim_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct sim_stream *sim_stream(void *handle)
{
    return (uintptr_t)handle <= 2 ? &default_stream : handle;
}

/*
 * Return the memory of so many streams, as measured on an H100: 512 and 48 KiB each, from pages of
 * 2 MiB. A context's own pages contain the 512 KiB of the first stream and the 48 KiB of the first
 * 35.
 */
static uint64_t memory_of(uint64_t streams)
{
    return ((streams + 2) / 4 + (48 * streams + 336 + 2047) / 2048 - 1) * SIM_PAGE;
}

static int try_count(int number, int change)
{
    struct sim_device *device = sim_device(number);
    uint64_t size = sim_environment_size("CUDASIM_STREAM", UINT64_MAX);
    if (size == UINT64_MAX)
        return sim_count_stream(device, change, memory_of);
    size &= ~(SIM_PAGE - 1);
    if (change > 0)
        return sim_allocate_bytes(device, size);
    sim_free_bytes(device, size);
    return 0;
}

/* Count a stream of the device in or out. */
static int count(int number, int change)
{
    int error = try_count(number, change);
    if (error != -ENOMEM)
        return error;
    sim_pools_make_room(number);
    return try_count(number, change);
}

int sim_stream_create(unsigned flags, int priority, struct sim_stream **out)
{
    static _Atomic uint64_t last_id = 2;
    struct sim_stream *stream = calloc(1, sizeof(*stream));
    if (!stream || count(sim_thread.device, 1)) {
        free(stream);
        return -ENOMEM;
    }
    stream->device = sim_thread.device;
    stream->flags = flags;
    stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    stream->id = ++last_id;
    *out = stream;
    sim_report_resource(SIM_STREAM_CREATED, sim_thread.context, stream);
    return 0;
}

int sim_stream_destroy(struct sim_stream *stream)
{
    if ((uintptr_t)stream <= 2)
        return -EINVAL;
    sim_capture_leave(stream);
    sim_report_resource(SIM_STREAM_DESTROYED, sim_thread.context, stream);
    count(stream->device, -1);
    free(stream->tips.nodes);
    free(stream);
    return 0;
}

int sim_event_create(unsigned flags, struct sim_event **out)
{
    struct sim_event *event = calloc(1, sizeof(*event));
    if (!event)
        return -ENOMEM;
    event->device = sim_thread.device;
    event->flags = flags;
    *out = event;
    return 0;
}

void sim_event_destroy(struct sim_event *event)
{
    free(event->tips.nodes);
    free(event);
}

void sim_event_record(struct sim_event *event, const struct sim_stream *stream)
{
    static _Atomic uint64_t count;
    uint64_t time = 1;
    sim_capture_record(event, stream);
    if (!(event->flags & DISABLE_TIMING))
        time += atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    atomic_store_explicit(&event->time, time, memory_order_release);
}

int sim_event_elapsed(const struct sim_event *from, const struct sim_event *to, float *milliseconds)
{
    uint64_t start = atomic_load(&from->time), end = atomic_load(&to->time);
    if ((from->flags | to->flags) & DISABLE_TIMING)
        return -EINVAL;
    if (!start || !end)
        return -EAGAIN;
    *milliseconds = (float)(int64_t)(end - start);
    return 0;
}

/* Events that other processes open: all recorded work is complete, in every process. */

enum { MAGIC = 0x656d6973 };
enum { INTERPROCESS = 4 };

_Static_assert(sizeof(struct sim_ipc_event) == 64, "as large as CUDA's");

int sim_ipc_export_event(const struct sim_event *event, struct sim_ipc_event *handle)
{
    if ((event->flags & (INTERPROCESS | DISABLE_TIMING)) != (INTERPROCESS | DISABLE_TIMING))
        return -EINVAL;
    *handle =
        (struct sim_ipc_event){.magic = MAGIC, .pid = (uint32_t)getpid(), .flags = event->flags};
    return 0;
}

int sim_ipc_open_event(const struct sim_ipc_event *handle, struct sim_event **out)
{
    if (handle->magic != MAGIC)
        return -EINVAL;
    return sim_event_create((unsigned)handle->flags, out);
}
