/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"

/* Note the part before claiming it: if a signal handler jumps away in between, the list has a part
 * that is not ours, which is harmless. */
bool mt_exclusive_acquire(struct mt_exclusive *part)
{
    struct mt_thread *self = mt_self;
    uint32_t nobody = 0;
    if (!self || self->n_holds == MT_MOST_ACQUIRED ||
        atomic_load_explicit(&part->by, memory_order_relaxed))
        return false;
    self->holds[self->n_holds++] = part;
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_compare_exchange_strong_explicit(&part->by, &nobody, self->id, memory_order_acquire,
                                                memory_order_relaxed))
        return true;
    self->n_holds--;
    return false;
}

void mt_exclusive_release(struct mt_exclusive *part)
{
    atomic_store_explicit(&part->by, 0, memory_order_release);
    mt_self->n_holds--;
}

bool mt_exclusive_is_mine(const struct mt_exclusive *part)
{
    const struct mt_thread *self = mt_self;
    return self && atomic_load_explicit(&part->by, memory_order_relaxed) == self->id;
}
