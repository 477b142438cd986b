/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What leaves keep as their .grad, whoever puts it there: autograd, Python (w.grad = view), DDP's
 * buckets. All of them ask the leaf for the place of its gradient first (TensorImpl::mutable_grad),
 * and fill it afterwards; so that is looked at when the thread's next event comes, by reads that
 * cannot crash.
 */
#ifndef MT_PRELOAD_GRADIENTS_H
#define MT_PRELOAD_GRADIENTS_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Looks into Python's tensors, of which some wrap others (DTensor), by this layout from now on. */
void mt_gradients_start(const struct mt_python_layout *layout);

/* The leaf's gradient, an at::Tensor at slot, may change from now on. Both are alive. */
void mt_gradient_changes(struct mt_thread *self, const void *leaf, const void *slot);

/* The thread has recorded the leaf's gradient, which is this one: there is nothing to be looked at.
 */
void mt_gradient_is_known(struct mt_thread *self, const void *leaf, const void *gradient);

/* Records what has changed. Call where self->n_gradients is not 0. */
void mt_gradients_look(struct mt_thread *self);

/* Whether the tensor is a leaf's gradient, among those that were seen last. */
bool mt_is_gradient(const void *impl);

/* Whether a tensor that lives is none that a module or an optimizer would have as a parameter: it needs no gradient, and
 * is of Python's plain class. */
bool mt_is_no_parameter(const void *impl);

/* For a forked child. */
void mt_gradients_reset(void);

#endif
