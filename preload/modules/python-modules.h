/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of torch.nn modules, "layers.3.mlp", from the first arguments of a stack's frames: a
 * module is searched among the children of its callers.
 */
#ifndef MT_PRELOAD_PYTHON_MODULES_H
#define MT_PRELOAD_PYTHON_MODULES_H

#include "preload/python/python-code.h"
#include "preload/python/python-versions.h"

/* Names have ids from 1; 0: none, or unknown. */
#define MT_MOST_MODULES 65536u

/* Read modules by this layout from now on. */
void mt_modules_start(const struct mt_python_layout *layout);

/* Return what frames of this code do with a module, their first argument; 0 if nothing. object is
 * such an argument. The first one shows whether modules can be read at all. Call with the intern
 * lock, like all below but mt_module_find. */
enum mt_module_work { MT_CALLS_MODULE = 1, MT_MOVES_MODULE };
enum mt_module_work mt_module_work(uint64_t code, uint64_t object);

/* The module that calls another; zeros: none. */
struct mt_module_caller {
    uint64_t object;
    uint32_t id;
};

/* Return a module's known name, or 0 if another object was at its address, or the caller has it
 * elsewhere now. Both objects must be alive. Takes no lock. */
uint32_t mt_module_find(uint64_t object, struct mt_module_caller caller);

#define MT_MODULE_OWNERS 16u

/* Search for an unknown name below the modules that may have this one: its caller first, then the
 * caller's callers; id 0: without a name so far, or not a module. If no owner has the module, it
 * gets its caller's name or represents itself. 0 if unknown. */
uint32_t mt_module_resolve(uint64_t object, struct mt_module_caller caller,
                           const struct mt_module_caller *owners, unsigned n);

struct mt_module_name mt_module_name(uint32_t id);

/* Return for the trace, as text, whether there are names. */
const char *mt_modules_status(void);

/* Reset in a forked child, whose ids start over. */
void mt_modules_reset(void);

#endif
