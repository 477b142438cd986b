/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

/* Note the part before claiming it: if a signal handler jumps away in between, the list has a part
 * that is not ours, which is harmless. */
bool mt_hold(struct mt_held *held)
{
    struct mt_thread *self = mt_self;
    uint32_t nobody = 0;
    if (!self || self->n_holds == MT_HOLDS || atomic_load_explicit(&held->by, memory_order_relaxed))
        return false;
    self->holds[self->n_holds++] = held;
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_compare_exchange_strong_explicit(&held->by, &nobody, self->id, memory_order_acquire,
                                                memory_order_relaxed))
        return true;
    self->n_holds--;
    return false;
}

void mt_let_go(struct mt_held *held)
{
    atomic_store_explicit(&held->by, 0, memory_order_release);
    mt_self->n_holds--;
}

bool mt_is_held_here(const struct mt_held *held)
{
    const struct mt_thread *self = mt_self;
    return self && atomic_load_explicit(&held->by, memory_order_relaxed) == self->id;
}
