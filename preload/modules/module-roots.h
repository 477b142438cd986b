/* SPDX-License-Identifier: Apache-2.0 */
/* Names of outermost modules: their class, with a number if several of the class exist at once:
 * Net, Net#2. Call with the intern lock. */
#ifndef MT_PRELOAD_MODULE_ROOTS_H
#define MT_PRELOAD_MODULE_ROOTS_H

#include "preload/python/python-versions.h"

/* Return a string id, or 0 if unknown. The object must be alive. */
uint32_t mt_module_root(const struct mt_python_layout *layout, uint64_t object);

/* Return how many modules got no number for lack of room. Any thread. */
uint32_t mt_module_roots_left_out(void);

/* Reset in a forked child. */
void mt_module_roots_reset(void);

#endif
