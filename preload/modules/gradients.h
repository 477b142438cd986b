/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients that leaves keep as their .grad, however they are set: by autograd, Python (w.grad =
 * view) or DDP's buckets. All of these first request the gradient's place from the leaf
 * (TensorImpl::mutable_grad) and fill it afterwards. So memtap reads it at the thread's next event,
 * by reads that cannot crash.
 */
#ifndef MT_PRELOAD_GRADIENTS_H
#define MT_PRELOAD_GRADIENTS_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Read Python's tensors by this layout from now on; some wrap others (DTensor). */
void mt_gradients_start(const struct mt_python_layout *layout);

/* Note that the leaf's gradient, an at::Tensor at slot, may change soon. Both are alive. */
void mt_gradient_changes(struct mt_thread *self, const void *leaf, const void *slot);

/* Note that the thread has recorded this gradient of the leaf: it need not be read. */
void mt_gradient_is_known(struct mt_thread *self, const void *leaf, const void *gradient);

/* Record the changed gradients. Call if self->pending.n_gradients is not 0. */
void mt_gradients_scan(struct mt_thread *self);

/* Return whether this is the data of the gradient that the thread has just replaced, and no module
 * is to be read: what an optimizer has after its step can wait, too. */
static inline bool mt_is_replaced_gradient(const struct mt_thread *self, uint64_t address)
{
    return self->pending.n_gradients && !self->pending.called.object &&
           self->gradients.waiting[self->pending.n_gradients - 1].replaced == address;
}

/* Return whether the tensor is a leaf's gradient, among those seen last. */
bool mt_is_gradient(const void *impl);

/* Return whether a live tensor cannot be a parameter of a module or an optimizer: it requires no
 * gradient, and its class is Python's plain Tensor. */
bool mt_is_no_parameter(const void *impl);

/* Reset in a forked child. */
void mt_gradients_reset(void);

#endif
