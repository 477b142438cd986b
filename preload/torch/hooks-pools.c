/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/hooks/hooks.h"
#include "preload/hooks/pools.h"
#include "preload/loader/find-real.h"
#include "preload/loader/images.h"
#include "preload/modules/read-objects.h"
#include "preload/record/recorder.h"
#include "preload/stacks/python-stack.h"
#include "ranges.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

MT_POOL_HOOKS(MT_REAL_OF_ONE_RELEASE)

#define NESTED 4u /* nested use_mem_pool; deeper ones get no names */

/* The frames of the uses of MemPools that have begun in this thread. */
static _Thread_local struct {
    unsigned n;
    uint64_t frame[NESTED];
    struct mt_pool_id before[NESTED]; /* what was in use */
} uses __attribute__((tls_model("initial-exec")));

/* Return whether this is the start. `use_mem_pool` queries the pool's id when it starts to allocate
 * in it, when it ends that, and to release it. One frame does all of these, and the first line of
 * its code that does is the start (not its first instruction, which moves when Python 3.12
 * specializes it). In between is the frame of a property. The caller holds the GIL. */
static bool is_begin(const struct mt_python_place *at)
{
    static _Atomic uint64_t code;
    static _Atomic uint32_t first;
    if (code != at->code || at->line < first) {
        code = at->code;
        first = at->line;
    }
    return at->line == first;
}

static void begin(uint64_t frame, struct mt_pool_id pool)
{
    if (uses.n == NESTED) {
        mt_pool_in_use = (struct mt_pool_id){0, 0};
        return;
    }
    uses.frame[uses.n] = frame;
    uses.before[uses.n++] = mt_pool_in_use;
    mt_pool_in_use = pool;
}

static void end(uint64_t frame)
{
    if (uses.n && uses.frame[uses.n - 1] == frame) /* otherwise it had ended, and is released */
        mt_pool_in_use = uses.before[--uses.n];
}

static void note_id_call(struct mt_pool_id pool)
{
    struct mt_python_place at;
    mt_start();
    struct mt_thread *self = mt_enter();
    if (!self)
        return;
    bool is_use = mt_python_is_near(self, "use_mem_pool", "/torch/cuda/memory.py", &at);
    mt_read_objects(self);
    mt_leave(self);
    if (!is_use)
        return;
    if (is_begin(&at))
        begin(at.frame, pool);
    else
        end(at.frame);
}

#define HOOK_ID(name)                                                                              \
    struct mt_pool_id mt_hook_##name(void *pool)                                                   \
    {                                                                                              \
        struct mt_pool_id id = real_##name()(pool);                                                \
        note_id_call(id);                                                                          \
        return id;                                                                                 \
    }
HOOK_ID(pool_id)
HOOK_ID(pool_id_c10)

/* Return whether the caller is the allocator: others (cuBLAS, the program itself) may allocate
 * memory meanwhile. */
static bool is_allocator(const void *caller)
{
    struct mt_image object;
    return !mt_image_find((uintptr_t)caller, &object) && strstr(object.name, "/libc10_cuda.");
}

void mt_pool_name_segment(unsigned result, const void *address, const void *caller)
{
    uint64_t at;
    char name[64];
    if (result || !is_allocator(caller))
        return;
    memcpy(&at, address, sizeof at);
    snprintf(name, sizeof name, "MemPool (%llu, %llu)", (unsigned long long)mt_pool_in_use.first,
             (unsigned long long)mt_pool_in_use.second);
    mt_range_name((const void *)(uintptr_t)at, name);
}

/* The pool that this thread's next capture allocates in; zeros: unknown. */
static _Thread_local struct {
    struct mt_pool_id pool;
    bool is_beginning;
} capture __attribute__((tls_model("initial-exec")));

void mt_pool_capture_name(char *out, size_t size, unsigned number)
{
    const struct mt_pool_id pool = capture.pool;
    unsigned first = mt_pools_first_capture(pool, number);
    if (!pool.first && pool.second)
        snprintf(out, size, "graph %u in pool (0, %llu)", number, (unsigned long long)pool.second);
    else if (first != number)
        snprintf(out, size, "graph %u in graph %u's pool", number, first);
    else
        snprintf(out, size, "graph %u", number);
}

/* A capture without a pool gets one of its own when it begins. */
#define HOOK_OWN(name)                                                                             \
    struct mt_pool_id mt_hook_##name(_Bool is_users)                                               \
    {                                                                                              \
        struct mt_pool_id id = real_##name()(is_users);                                            \
        if (capture.is_beginning)                                                                  \
            capture.pool = id;                                                                     \
        return id;                                                                                 \
    }
HOOK_OWN(graph_pool)
HOOK_OWN(graph_pool_c10)

/* End the start of a capture, also when an exception passes. */
static void end_begin(const int *unused)
{
    (void)unused;
    memset(&capture, 0, sizeof capture);
}

void mt_hook_graph_begin(void *graph, struct mt_pool_id pool, unsigned mode)
{
    __attribute__((cleanup(end_begin))) int beginning = 1;
    capture.pool = pool;
    capture.is_beginning = beginning;
    real_graph_begin()(graph, pool, mode);
}
