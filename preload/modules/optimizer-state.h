/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What optimizers keep for which parameter, from their own `state`: {parameter: {name: tensor}}, as
 * every torch.optim.Optimizer has it. It is gone through when a step has ended, by reads that
 * cannot crash; nothing is called in Python.
 */
#ifndef MT_PRELOAD_OPTIMIZER_STATE_H
#define MT_PRELOAD_OPTIMIZER_STATE_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Looks at optimizers by this layout from now on. */
void mt_optimizers_start(const struct mt_python_layout *layout);

/* Whether frames of this code are an optimizer's step, at work for their first argument. */
bool mt_optimizer_is_step(uint64_t code, uint64_t object);

/* The thread's i-th known frame is such a step; it may have been before. */
void mt_optimizer_steps(struct mt_thread *self, unsigned i);

/* The thread's stack has n frames now: note the optimizers whose steps have ended. */
void mt_optimizers_follow(struct mt_thread *self, unsigned n);

/* Record what is among the state of those that were noted, if it may have changed. */
void mt_optimizers_ask(struct mt_thread *self);

/* Likewise of those that are in the middle of a step. */
void mt_optimizers_look(struct mt_thread *self);

/* For a forked child. */
void mt_optimizers_reset(void);

#endif
