/* SPDX-License-Identifier: Apache-2.0 */
/* What outermost modules are called: by their class, and those of one class that live at the same
 * time by numbers too: Net, Net#2. Call with the intern lock. */
#ifndef MT_PRELOAD_MODULE_ROOTS_H
#define MT_PRELOAD_MODULE_ROOTS_H

#include "preload/python/python-versions.h"

/* String id; 0: it cannot be told. The object is alive. */
uint32_t mt_module_root(const struct mt_python_layout *layout, uint64_t object);

/* Modules that have no number because there was no room for another. Any thread. */
uint32_t mt_module_roots_left_out(void);

/* For a forked child. */
void mt_module_roots_reset(void);

#endif
