/* SPDX-License-Identifier: Apache-2.0 */
#include "device-watch.h"
#include "device-memory.h"
#include "preload/host/own-thread.h"
#include "preload/loader/cuda-pools.h"
#include "preload/record/recorder.h"
#include "preload/record/wake.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_DEVICES 64
#define MOST_SAMPLES 240 /* waiting, at most */
#define LAST_WAIT_NS 500000000u
#define PAUSE_NS 100000000u
#define FOR_EVER UINT64_MAX
#define TRIES 8u
#define PAUSES_FOR_A_SAMPLE 20u /* a pause is at least this many times as long as the query */

static struct {
    uint64_t seen, failed; /* devices, by bit; failed: where memory ran out. For the writer */
    bool has_changed;
    bool has_thread;
    bool has_async; /* memory of CUDA's pools was allocated or freed */
    _Atomic uint32_t bell,
        answers; /* futexes: bell ends a pause (0 before the first); answers counts them */
    /* Below: with the lock held. */
    pthread_mutex_t lock;
    uint64_t wanted, known; /* devices, by bit: to query now; queried so far */
    uint64_t repeated;      /* by bit: whose next answer is kept even if it equals the last */
    bool is_querying, is_over;
    bool wants_pools; /* with the next answer */
    struct mt_device_memory last[MOST_DEVICES];
    struct mt_event sample[MOST_SAMPLES];
    unsigned first, n;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define BIT(kind) (1ull << (kind))
#define CHANGES                                                                                    \
    (BIT(MT_OOM) | BIT(MT_CUDA_MALLOC) | BIT(MT_CUDA_FREE) | BIT(MT_CUDA_MALLOC_ASYNC) |           \
     BIT(MT_CUDA_FREE_ASYNC) | BIT(MT_CUDA_MAP) | BIT(MT_CUDA_UNMAP) | BIT(MT_CUDA_OBJECT) |       \
     BIT(MT_CUDA_OBJECT_GONE))

static bool has_failed(const struct mt_event *event)
{
    return event->kind == MT_OOM || (event->kind == MT_CUDA_MALLOC && event->CUDA_MALLOC.result);
}

void mt_watch_note(const struct mt_event *events, size_t n, uint64_t kinds)
{
    if (!(CHANGES & kinds))
        return;
    watch.has_changed = true;
    watch.has_async |= (kinds & (BIT(MT_CUDA_MALLOC_ASYNC) | BIT(MT_CUDA_POOL))) != 0;
    for (size_t i = 0; i < n; i++)
        if (CHANGES >> events[i].kind & 1 && (uint16_t)events[i].device < MOST_DEVICES) {
            watch.seen |= 1ull << events[i].device;
            if (has_failed(&events[i]))
                watch.failed |= 1ull << events[i].device;
        }
}

static void push(const struct mt_event *event)
{
    if (watch.n < MOST_SAMPLES)
        watch.sample[(watch.first + watch.n++) % MOST_SAMPLES] = *event;
}

/* Keep a sample, with the lock held. time_ns is when the device answered. Where memory ran out, an
 * equal answer says that the one before had the allocations in between already. */
static void keep(int device, const struct mt_device_memory *memory, uint64_t time_ns)
{
    bool is_equal = !memcmp(memory, &watch.last[device], sizeof *memory);
    if ((is_equal && !(watch.repeated >> device & 1)) || watch.n == MOST_SAMPLES)
        return;
    watch.repeated &= ~(1ull << device);
    watch.last[device] = *memory;
    push(&(struct mt_event){
        .time_ns = time_ns,
        .kind = MT_DEVICE_MEMORY,
        .device = (int16_t)device,
        .DEVICE_MEMORY = {memory->total, memory->free, memory->own, memory->others}});
}

/* Keep what CUDA's pools of the devices have. */
static void keep_pools(uint64_t devices)
{
    struct mt_cuda_pool_state pool;
    for (unsigned next = 0; mt_cuda_pools_next(&pool, devices, &next);) {
        uint64_t now = mt_now();
        pthread_mutex_lock(&watch.lock);
        push(
            &(struct mt_event){.time_ns = now,
                               .kind = MT_CUDA_POOL,
                               .device = (int16_t)pool.device,
                               .stack = pool.stack,
                               .CUDA_POOL = {pool.pool, pool.threshold, pool.reserved, pool.used}});
        push(&(struct mt_event){.time_ns = now,
                                .kind = MT_CUDA_POOL_HIGH,
                                .device = (int16_t)pool.device,
                                .CUDA_POOL_HIGH = {pool.pool, pool.most_reserved, pool.most_used}});
        pthread_mutex_unlock(&watch.lock);
    }
}

_Atomic uint32_t mt_watch_state;

/* Query the device, and again if CUDA allocated memory between the answer and its time: the trace
 * would have the allocation before the sample, although the sample does not include it. Return
 * whether the last answer is free of that. */
static bool query_device(int device, struct mt_device_memory *memory, uint64_t *time_ns,
                         bool *is_noted)
{
    for (unsigned i = 0; i < TRIES; i++) {
        *is_noted |= atomic_exchange(&mt_watch_state, MT_WATCH_QUERIES) == MT_WATCH_NOTED;
        *time_ns = 0;
        if (mt_device_memory(device, memory))
            return false;
        *time_ns = mt_now();
        if (atomic_load(&mt_watch_state) == MT_WATCH_QUERIES)
            return true;
    }
    return false;
}

/* Sample. A device's first answer is kept even if it is not free of that. */
static void sample(uint64_t devices)
{
    struct mt_device_memory memory;
    uint64_t time_ns;
    bool is_noted = false;
    for (int device = 0; devices; device++, devices >>= 1) {
        bool is_right = devices & 1 && query_device(device, &memory, &time_ns, &is_noted);
        if (!(devices & 1) || !time_ns)
            continue;
        pthread_mutex_lock(&watch.lock);
        if (is_right || !watch.last[device].total)
            keep(device, &memory, time_ns);
        pthread_mutex_unlock(&watch.lock);
    }
    if (is_noted)
        atomic_store(&mt_watch_state, MT_WATCH_NOTED);
}

static void wake(_Atomic uint32_t *word)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = saved;
}

/* Wait while the word has this value, for at most this time. */
static void wait_on(_Atomic uint32_t *word, uint32_t value, uint64_t most_ns)
{
    const struct timespec most = {(time_t)(most_ns / 1000000000u), (long)(most_ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most_ns == FOR_EVER ? NULL : &most, NULL,
            0);
}

void mt_watch_note_slowly(void)
{
    uint32_t waits = MT_WATCH_WAITS, queries = MT_WATCH_QUERIES;
    if (atomic_compare_exchange_strong(&mt_watch_state, &waits, MT_WATCH_NOTED))
        wake(&mt_watch_state);
    else
        atomic_compare_exchange_strong(&mt_watch_state, &queries, MT_WATCH_NOTED);
}

static void ring(void)
{
    mt_watch_hint();
    atomic_fetch_add(&watch.bell, 1);
    wake(&watch.bell);
}

void mt_watch_request(void)
{
    if (!mt_is_recording())
        return;
    if (atomic_load(&mt_watch_state) == MT_WATCH_OFF)
        mt_writer_wake(); /* it starts the thread, which queries */
    else
        ring();
}

/* Return the devices to query now, and whether with their pools; 0 to end. */
static uint64_t next_wanted(bool *wants_pools)
{
    pthread_mutex_lock(&watch.lock);
    uint64_t devices = watch.is_over ? 0 : watch.wanted | watch.known;
    watch.known = devices;
    watch.wanted = 0;
    watch.is_querying = devices != 0;
    *wants_pools = watch.wants_pools;
    watch.wants_pools = false;
    pthread_mutex_unlock(&watch.lock);
    return devices;
}

static void sample_and_pause(uint64_t devices, bool wants_pools)
{
    uint32_t rung = atomic_load(&watch.bell);
    uint64_t begin = mt_now();
    sample(devices);
    if (wants_pools)
        keep_pools(devices);
    uint64_t pause = (mt_now() - begin) * PAUSES_FOR_A_SAMPLE;
    pthread_mutex_lock(&watch.lock);
    watch.is_querying = false;
    pthread_mutex_unlock(&watch.lock);
    atomic_fetch_add(&watch.answers, 1);
    wake(&watch.answers);
    wait_on(&watch.bell, rung, pause < PAUSE_NS ? PAUSE_NS : pause);
}

static void *run(void *unused)
{
    uint64_t devices;
    bool wants_pools;
    pthread_setname_np(pthread_self(), "memtap-nvml");
    while (!atomic_load(&watch.bell))
        wait_on(&watch.bell, 0, FOR_EVER);
    for (;;) {
        uint32_t queries = MT_WATCH_QUERIES; /* set each time: a failed exchange overwrites it */
        while (atomic_load(&mt_watch_state) == MT_WATCH_WAITS)
            wait_on(&mt_watch_state, MT_WATCH_WAITS, FOR_EVER);
        atomic_store(&mt_watch_state, MT_WATCH_QUERIES);
        devices = next_wanted(&wants_pools);
        if (!devices)
            break;
        sample_and_pause(devices, wants_pools);
        atomic_compare_exchange_strong(&mt_watch_state, &queries, MT_WATCH_WAITS);
    }
    atomic_store(&mt_watch_state, MT_WATCH_OFF);
    return unused;
}

void mt_watch_renew(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.wanted = watch.known = watch.seen = 0;
    watch.has_changed = watch.is_over = watch.has_async = false;
    watch.n = 0;
    memset(watch.last, 0, sizeof watch.last);
    atomic_store(&watch.bell, 0);
    pthread_mutex_unlock(&watch.lock);
}

void mt_watch_start(void)
{
    watch.has_thread = !mt_own_thread(run);
}

static void request(void)
{
    uint32_t off = MT_WATCH_OFF;
    if (!watch.has_thread)
        return;
    pthread_mutex_lock(&watch.lock);
    watch.wanted = watch.seen; /* first: a hook may wake the thread as soon as it waits */
    watch.repeated |= watch.failed;
    watch.failed = 0;
    pthread_mutex_unlock(&watch.lock);
    atomic_compare_exchange_strong(&mt_watch_state, &off, MT_WATCH_WAITS);
    ring();
}

void mt_watch_request_samples(void)
{
    if (watch.has_changed && watch.seen)
        request();
    watch.has_changed = false;
}

int mt_watch_next(struct mt_event *out)
{
    pthread_mutex_lock(&watch.lock);
    bool has_one = watch.n != 0;
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
    watch.has_changed = true;
}

static bool is_awaited(void)
{
    pthread_mutex_lock(&watch.lock);
    bool is_awaited = watch.wanted || watch.is_querying;
    pthread_mutex_unlock(&watch.lock);
    return is_awaited;
}

static void wait_for_answer(uint64_t until_ns)
{
    uint32_t answers = atomic_load(&watch.answers);
    for (uint64_t now; is_awaited() && (now = mt_now()) < until_ns;) {
        wait_on(&watch.answers, answers, until_ns - now);
        answers = atomic_load(&watch.answers);
    }
}

void mt_watch_finish(void)
{
    if (!watch.has_thread)
        return;
    if (watch.seen) {
        pthread_mutex_lock(&watch.lock);
        watch.wants_pools = watch.has_async;
        pthread_mutex_unlock(&watch.lock);
        request();
        wait_for_answer(mt_now() + LAST_WAIT_NS);
    }
    pthread_mutex_lock(&watch.lock);
    watch.wanted = 0;
    watch.is_over = true;
    pthread_mutex_unlock(&watch.lock);
    ring();
}

bool mt_watch_has_thread(void)
{
    return watch.has_thread;
}

void mt_watch_reset(void)
{
    memset(&watch, 0, sizeof watch);
    atomic_store(&mt_watch_state, MT_WATCH_OFF);
    pthread_mutex_init(&watch.lock, NULL);
    mt_device_memory_reset();
}
