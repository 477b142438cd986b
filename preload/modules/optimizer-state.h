/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that optimizers keep for each parameter, from their own `state`: {parameter: {name:
 * tensor}}, as in every torch.optim.Optimizer. memtap scans it when a step has ended, by reads that
 * cannot crash; nothing is called in Python.
 */
#ifndef MT_PRELOAD_OPTIMIZER_STATE_H
#define MT_PRELOAD_OPTIMIZER_STATE_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Read optimizers by this layout from now on. */
void mt_optimizers_start(const struct mt_python_layout *layout);

/* Return whether frames of this code are an optimizer's step, with the optimizer as first argument.
 */
bool mt_optimizer_is_step(uint64_t code, uint64_t object);

/* Note that the thread's i-th known frame is a step, perhaps again. */
void mt_optimizer_steps(struct mt_thread *self, unsigned i);

/* Note the optimizers whose steps have ended: the thread's stack has n frames now. */
void mt_optimizers_follow(struct mt_thread *self, unsigned n);

/* Record the state of the noted optimizers if it may have changed. */
void mt_optimizers_record(struct mt_thread *self);

/* Record the state of optimizers during a step. */
void mt_optimizers_scan(struct mt_thread *self);

/* Reset in a forked child. */
void mt_optimizers_reset(void);

#endif
