/* SPDX-License-Identifier: Apache-2.0 */
#include "device-watch.h"
#include "device-memory.h"
#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define MOST_DEVICES 64
#define MOST_SAMPLES 256 /* not taken yet; more are dropped */
#define LAST_WAIT_NS 500000000u

enum thread { NONE, RUNNING, IMPOSSIBLE };

static struct {
    uint64_t seen; /* devices, by bit; the writer's */
    int has_changed;
    enum thread thread;
    /* Below: with the lock held. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t wanted;
    int is_asking, is_over;
    struct mt_device_memory last[MOST_DEVICES];
    struct mt_event sample[MOST_SAMPLES];
    unsigned first, n;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define BIT(kind) (1ull << (kind))
#define CHANGES                                                                                    \
    (BIT(MT_OOM) | BIT(MT_CUDA_MALLOC) | BIT(MT_CUDA_FREE) | BIT(MT_CUDA_MALLOC_ASYNC) |           \
     BIT(MT_CUDA_FREE_ASYNC) | BIT(MT_CUDA_MAP) | BIT(MT_CUDA_UNMAP) | BIT(MT_CUDA_OBJECT) |       \
     BIT(MT_CUDA_OBJECT_GONE))

void mt_watch_note(const struct mt_event *event)
{
    if (!(CHANGES >> event->kind & 1))
        return;
    watch.has_changed = 1;
    if (event->device >= 0 && event->device < MOST_DEVICES)
        watch.seen |= 1ull << event->device;
}

/* With the lock held. */
static void keep(int device, const struct mt_device_memory *memory)
{
    if (!memcmp(memory, &watch.last[device], sizeof *memory) || watch.n == MOST_SAMPLES)
        return;
    watch.last[device] = *memory;
    watch.sample[(watch.first + watch.n++) % MOST_SAMPLES] =
        (struct mt_event){.time_ns = mt_now(),
                          .kind = MT_DEVICE_MEMORY,
                          .device = (int16_t)device,
                          .arg = {memory->total, memory->free, memory->own, memory->others}};
}

static void sample(uint64_t devices)
{
    struct mt_device_memory memory;
    for (int device = 0; devices; device++, devices >>= 1) {
        if (!(devices & 1) || mt_device_memory(device, &memory))
            continue;
        pthread_mutex_lock(&watch.lock);
        keep(device, &memory);
        pthread_mutex_unlock(&watch.lock);
    }
}

static void *run(void *unused)
{
    pthread_setname_np(pthread_self(), "memtap-nvml");
    pthread_mutex_lock(&watch.lock);
    for (;;) {
        while (!watch.wanted && !watch.is_over)
            pthread_cond_wait(&watch.changed, &watch.lock);
        if (!watch.wanted)
            break;
        uint64_t devices = watch.wanted;
        watch.wanted = 0;
        watch.is_asking = 1;
        pthread_mutex_unlock(&watch.lock);
        sample(devices);
        pthread_mutex_lock(&watch.lock);
        watch.is_asking = 0;
        pthread_cond_broadcast(&watch.changed);
    }
    pthread_mutex_unlock(&watch.lock);
    return unused;
}

/* All signals are blocked in it, as they are in the writer. */
static enum thread begin(void)
{
    pthread_t thread;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.changed, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&thread, NULL, run, NULL))
        return IMPOSSIBLE;
    pthread_detach(thread);
    return RUNNING;
}

static void ask(void)
{
    if (watch.thread == NONE)
        watch.thread = begin();
    if (watch.thread != RUNNING)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.wanted = watch.seen;
    pthread_cond_broadcast(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
}

void mt_watch_ask(void)
{
    if (watch.has_changed && watch.seen)
        ask();
    watch.has_changed = 0;
}

int mt_watch_take(struct mt_event *out)
{
    pthread_mutex_lock(&watch.lock);
    int has_one = watch.n != 0;
    if (has_one) {
        *out = watch.sample[watch.first];
        watch.first = (watch.first + 1) % MOST_SAMPLES;
        watch.n--;
    }
    pthread_mutex_unlock(&watch.lock);
    return has_one;
}

void mt_watch_forget(void)
{
    pthread_mutex_lock(&watch.lock);
    memset(watch.last, 0, sizeof watch.last);
    pthread_mutex_unlock(&watch.lock);
    watch.has_changed = 1;
}

void mt_watch_finish(void)
{
    if (!watch.seen)
        return;
    ask();
    if (watch.thread != RUNNING)
        return;
    uint64_t until = mt_now() + LAST_WAIT_NS;
    struct timespec end = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_mutex_lock(&watch.lock);
    while ((watch.wanted || watch.is_asking) &&
           pthread_cond_timedwait(&watch.changed, &watch.lock, &end) != ETIMEDOUT)
        ;
    watch.wanted = 0;
    watch.is_over = 1;
    pthread_cond_broadcast(&watch.changed);
    pthread_mutex_unlock(&watch.lock);
}

void mt_watch_reset(void)
{
    memset(&watch, 0, sizeof watch);
    pthread_mutex_init(&watch.lock, NULL);
    mt_device_memory_reset();
}
