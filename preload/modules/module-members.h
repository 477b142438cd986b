/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torch.nn modules have as their buffers, from their own `_buffers`: many are neither moved
 * with the module nor made in its constructor, and some are replaced in each forward. And what
 * their parameters consist of where these are no plain tensors (DTensor, quantized ones). The whole
 * tree is gone through when its outermost module is called, by reads that cannot crash; nothing is
 * called in Python.
 */
#ifndef MT_PRELOAD_MODULE_MEMBERS_H
#define MT_PRELOAD_MODULE_MEMBERS_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Looks at modules by this layout from now on. */
void mt_module_members_start(const struct mt_python_layout *layout);

/* An outermost module is called, for the first time or once more: at some of these calls what it
 * and all its parts have is recorded, as far as new modules and events have earned the time. */
void mt_module_members_look(struct mt_thread *self, uint64_t module, bool is_first);

/* There is a new module, for which one may be looked at. */
void mt_module_members_earn(void);

/* Looks that did not come to all modules. Any thread. */
uint32_t mt_module_members_cut(void);

/* For a forked child. */
void mt_module_members_reset(void);

#endif
