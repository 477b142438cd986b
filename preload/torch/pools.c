/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/hooks/pools.h"
#include "preload/host/no-signals.h"
#include "preload/record/lock.h"
#include "preload/record/recorder.h"

#include <stdbool.h>

_Thread_local struct mt_pool_id mt_pool_in_use __attribute__((tls_model("initial-exec")));

#define GRAPHS 64u

/* The pools of captures, each with the first one's number: the latest GRAPHS of them. */
static struct {
    struct mt_lock lock;
    unsigned n;
    struct {
        struct mt_pool_id pool;
        unsigned number;
    } of[GRAPHS];
} graphs = {.lock = MT_LOCK_INITIALIZER};

static bool is_same(struct mt_pool_id a, struct mt_pool_id b)
{
    return a.first == b.first && a.second == b.second;
}

/* Return the first capture in the pool, with the lock held. */
static unsigned first_in(struct mt_pool_id pool, unsigned number)
{
    for (unsigned i = 0; i < GRAPHS && i < graphs.n; i++)
        if (is_same(graphs.of[i].pool, pool))
            return graphs.of[i].number;
    graphs.of[graphs.n % GRAPHS].pool = pool;
    graphs.of[graphs.n++ % GRAPHS].number = number;
    return number;
}

/* Return the first capture, within a hook, so that a signal handler's capture cannot request the
 * lock. */
unsigned mt_pools_first_capture(struct mt_pool_id pool, unsigned number)
{
    const struct mt_pool_id none = {0, 0};
    struct mt_thread *self = is_same(pool, none) ? NULL : mt_enter();
    if (!self)
        return number;
    MT_UNINTERRUPTED();
    unsigned first = number;
    if (mt_lock(&graphs.lock)) {
        first = first_in(pool, number);
        mt_unlock(&graphs.lock);
    }
    mt_leave(self);
    return first;
}

void mt_pools_reset(void)
{
    mt_lock_reset(&graphs.lock);
    graphs.n = 0;
}
