/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc-conf.h"
#include "blocks.h"
#include "preload/record/recorder.h"
#include "trace-format/likely.h"

#include <stdatomic.h>
#include <stdio.h>

/* Pools of shared blocks, by address; for others, the private pool is looked up. */
#define POOLS 64u
static MT_HOT _Atomic uint64_t shared_pools[POOLS];

static _Atomic uint64_t unknown, left_out; /* events; blocks that wait */

/* Blocks that wait for other streams, oldest first. */
#define WAITING 4096u
#define MOST_TRIES 1000000u /* while another thread reads them */
static struct waiting {
    uint64_t record, address;
    int device;
} waiting[WAITING];
static MT_HOT _Atomic unsigned n_waiting;
static struct mt_exclusive looking;

static _Atomic uint64_t *place_of(uint64_t pool)
{
    return &shared_pools[(pool >> 4 ^ pool >> 10) % POOLS];
}

static inline bool is_shared(uint64_t pool)
{
    return MT_LIKELY(atomic_load_explicit(place_of(pool), memory_order_relaxed) == pool);
}

static uint64_t private_pool(uint64_t pool)
{
    uint64_t owner = is_shared(pool) ? 0 : mt_block_private_pool(pool);
    if (!owner)
        atomic_store_explicit(place_of(pool), pool, memory_order_relaxed);
    return owner;
}

static __attribute__((noinline)) void use_stream(struct mt_thread *self, int device,
                                                 uint64_t stream, uint64_t pool)
{
    struct mt_thread_request *last = &self->request;
    if (last->stream == stream && last->pool == pool && last->device == device &&
        last->thread == self->id)
        return;
    *last = (struct mt_thread_request){
        .stream = stream, .pool = pool, .device = device, .thread = self->id};
    mt_record(self, MT_REQUEST_STREAM, device, 0, MT_ARGS(stream, pool));
}

static __attribute__((noinline)) void record_unused(struct mt_thread *self, int device,
                                                    uint64_t unused)
{
    mt_record(self, MT_REQUEST, device, 0, MT_ARGS(unused));
}

/* Record those of the oldest that no longer wait. Return whether these were all. */
static bool record_oldest(struct mt_thread *self, int device)
{
    uint64_t record[MT_BLOCKS_AT_ONCE], address[MT_BLOCKS_AT_ONCE];
    bool has[MT_BLOCKS_AT_ONCE];
    unsigned at[MT_BLOCKS_AT_ONCE], n = 0, done = 0;
    unsigned all = atomic_load_explicit(&n_waiting, memory_order_relaxed);
    for (unsigned i = 0; i < all && n < MT_BLOCKS_AT_ONCE; i++)
        if (waiting[i].device == device) {
            record[n] = waiting[i].record;
            address[n] = waiting[i].address;
            at[n++] = i;
        }
    if (!n)
        return false;
    mt_blocks_have_waited(record, address, has, n);
    for (unsigned i = 0; i < n; i++)
        if (has[i]) {
            mt_record(self, MT_FREE_DONE, device, 0, MT_ARGS(address[i]));
            waiting[at[i]].device = MT_NO_DEVICE;
            done++;
        }
    unsigned kept = 0;
    for (unsigned i = 0; done && i < all; i++)
        if (waiting[i].device != MT_NO_DEVICE)
            waiting[kept++] = waiting[i];
    if (done)
        atomic_store_explicit(&n_waiting, kept, memory_order_relaxed);
    return n && done == n;
}

/* Record those that waited: the allocator has just queried its events. */
static __attribute__((noinline, cold)) void record_waiting(struct mt_thread *self, int device)
{
    if (!mt_exclusive_acquire(&looking))
        return;
    while (record_oldest(self, device))
        ;
    mt_exclusive_release(&looking);
}

static __attribute__((cold)) void add_waiting(int device, uint64_t record, uint64_t address)
{
    unsigned tries = 0;
    while (!mt_exclusive_acquire(&looking))
        if (++tries == MOST_TRIES) {
            left_out++;
            return;
        }
    unsigned n = atomic_load_explicit(&n_waiting, memory_order_relaxed);
    if (n < WAITING) {
        waiting[n] = (struct waiting){record, address, device};
        atomic_store_explicit(&n_waiting, n + 1, memory_order_relaxed);
    } else {
        left_out++;
    }
    mt_exclusive_release(&looking);
}

void mt_request_origin(struct mt_thread *self, int device, uint64_t stream, uint64_t blocks)
{
    uint64_t pool = private_pool(blocks);
    uint64_t shared = pool ? self->request.shared : blocks;
    use_stream(self, device, stream, pool);
    self->request.shared = shared;
}

MT_UNSANITIZED static void record_request(struct mt_thread *self, int device, uint64_t size,
                                          const uint64_t *record, unsigned word)
{
    uint64_t requested = record[word + MT_BLOCK_REQUESTED];
    mt_request_origin(self, device, record[MT_BLOCK_STREAM], record[word + MT_BLOCK_POOL]);
    if (requested != size)
        mt_record(self, MT_REQUEST, device, 0, MT_ARGS(size - requested));
}

/* Record what has changed, or is unknown so far. */
MT_UNSANITIZED static __attribute__((noinline)) void alloc_other(struct mt_thread *self, int device,
                                                                 uint64_t address, uint64_t size,
                                                                 struct mt_caller caller)
{
    uint64_t copy[MT_BLOCK_WORDS];
    unsigned word = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed);
    if (MT_UNLIKELY(atomic_load_explicit(&n_waiting, memory_order_relaxed)))
        record_waiting(self, device);
    const uint64_t *record = mt_block_find_anywhere(false, caller);
    if (record && mt_block_is_handed_out(record, word, address, size)) {
        record_request(self, device, size, record, word);
    } else if (mt_block_find(false, caller, address, size, copy)) {
        record_request(self, device, size, copy, atomic_load(&mt_block_size_word));
    } else {
        unknown++;
        use_stream(self, device, MT_STREAM_UNKNOWN, 0);
    }
}

/* Return whether the thread's last alloc was of the same, and from a shared pool. */
static inline bool is_as_before(const struct mt_thread *self, int device, uint64_t stream,
                                uint64_t pool)
{
    const struct mt_thread_request *last = &self->request;
    return last->stream == stream && last->device == device && !last->pool &&
           last->thread == self->id && is_shared(pool);
}

MT_UNSANITIZED MT_HOT_CODE void mt_request_alloc(struct mt_thread *self, int device,
                                                 uint64_t address, uint64_t size,
                                                 struct mt_caller caller)
{
    const uint64_t *record = mt_block_known(false, caller);
    unsigned word = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed);
    if (MT_UNLIKELY(
            !record || atomic_load_explicit(&n_waiting, memory_order_relaxed) ||
            !mt_block_is_handed_out(record, word, address, size) ||
            !is_as_before(self, device, record[MT_BLOCK_STREAM], record[word + MT_BLOCK_POOL])))
        alloc_other(self, device, address, size, caller);
    else if (record[word + MT_BLOCK_REQUESTED] != size)
        record_unused(self, device, size - record[word + MT_BLOCK_REQUESTED]);
}

MT_UNSANITIZED static inline bool does_wait(const uint64_t *record, unsigned word)
{
    return (unsigned)record[word + MT_BLOCK_EVENTS] || record[MT_BLOCK_USES];
}

MT_UNSANITIZED static __attribute__((noinline)) void free_other(struct mt_thread *self, int device,
                                                                uint64_t address, uint64_t size,
                                                                struct mt_caller caller)
{
    uint64_t copy[MT_BLOCK_WORDS];
    unsigned word = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed);
    const uint64_t *record = mt_block_find_anywhere(true, caller);
    uint64_t at = (uint64_t)(uintptr_t)record;
    if (!record || !mt_block_is_freed(record, word, address, size)) {
        at = word ? mt_block_find(true, caller, address, size, copy) : 0;
        record = copy;
    }
    if (!at) {
        unknown++;
    } else if (does_wait(record, word)) {
        mt_record(self, MT_FREE_WAITS, device, 0, MT_ARGS(0));
        add_waiting(device, at, address);
    }
}

MT_UNSANITIZED MT_HOT_CODE void mt_request_free(struct mt_thread *self, int device,
                                                uint64_t address, uint64_t size,
                                                struct mt_caller caller)
{
    unsigned word = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed);
    const uint64_t *record = mt_block_known(true, caller);
    if (MT_UNLIKELY(!record || !mt_block_is_freed(record, word, address, size) ||
                    does_wait(record, word)))
        free_other(self, device, address, size, caller);
}

void mt_requests_reset(void)
{
    n_waiting = 0;
    unknown = left_out = 0;
    looking.by = 0;
    mt_blocks_reset();
    mt_alloc_conf_reset();
}

const char *mt_requests_status(char *text, size_t size)
{
    if (!mt_blocks_are_found())
        return unknown ? "none: the allocator's blocks have an unknown layout" : "none";
    if (!unknown && !left_out)
        return "all";
    snprintf(text, size, "all but %llu, %llu waits without an end", (unsigned long long)unknown,
             (unsigned long long)left_out);
    return text;
}
