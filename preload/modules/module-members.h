/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers of torch.nn modules, from their own `_buffers`: many are neither moved with the
 * module nor created in its constructor, and some are replaced in each forward. Also the parts of
 * parameters that are not plain tensors (DTensor, quantized ones). A call of the outermost module
 * scans the whole tree, by reads that cannot crash; nothing is called in Python.
 */
#ifndef MT_PRELOAD_MODULE_MEMBERS_H
#define MT_PRELOAD_MODULE_MEMBERS_H

#include <stdbool.h>

#include "preload/python/python-versions.h"
#include "preload/record/recorder.h"

/* Read modules by this layout from now on. */
void mt_module_members_start(const struct mt_python_layout *layout);

/* Record the members of an outermost module and of its descendants, at its first call and at some
 * later ones, as far as the budget from new modules and events allows. If it is being moved
 * (`.to()`), the next call does so: its members are about to change. */
void mt_module_members_scan(struct mt_thread *self, uint64_t module, bool is_first, bool is_moved);

/* Add a scan of one module to the budget, for a new module. */
void mt_module_members_earn(void);

/* Return how many scans did not reach all modules. Any thread. */
uint32_t mt_module_members_cut(void);

/* Reset in a forked child. */
void mt_module_members_reset(void);

#endif
