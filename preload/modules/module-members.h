/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers of torch.nn modules, from their own `_buffers`: many are neither moved with the
 * module nor made in its constructor, and some are replaced in each forward. Also the parts of
 * parameters that are no plain tensors (DTensor, quantized ones). A call of the outermost module
 * goes through the whole tree, by reads that cannot crash; nothing is called in Python.
 */
#ifndef MT_PRELOAD_MODULE_MEMBERS_H
#define MT_PRELOAD_MODULE_MEMBERS_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Read modules by this layout from now on. */
void mt_module_members_start(const struct mt_python_layout *layout);

/* Record the members of an outermost module, which is called for the first time or again, and of
 * all its children: at some of these calls, as far as new modules and events have earned the time.
 * Of one that is being moved (`.to()`), the next call does so: its members will be others. */
void mt_module_members_look(struct mt_thread *self, uint64_t module, bool is_first, bool is_moved);

/* Earn a look at one module by a new one. */
void mt_module_members_earn(void);

/* Return how many looks did not reach all modules. Any thread. */
uint32_t mt_module_members_cut(void);

/* Reset in a forked child. */
void mt_module_members_reset(void);

#endif
