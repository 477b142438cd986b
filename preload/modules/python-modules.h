/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of torch.nn modules, "layers.3.mlp", from the objects that a stack's frames have as
 * their first arguments: a module's name is looked for among the children of those that call it.
 */
#ifndef MT_PRELOAD_PYTHON_MODULES_H
#define MT_PRELOAD_PYTHON_MODULES_H

#include <stdbool.h>

#include "preload/python/python-code.h"
#include "preload/python/python-versions.h"

/* Names have ids from 1 up; 0: none, or not known. */
#define MT_MOST_MODULES 65536u

/* Looks at modules by this layout from now on. */
void mt_modules_start(const struct mt_python_layout *layout);

/* Whether frames of this code are at work for their first argument, a module; this is a frame's.
 * The first ones show whether modules can be read at all. Call with the intern lock, as all below
 * but mt_module_find. */
bool mt_module_is_caller(uint64_t code, uint64_t object);

/* The module within which another is called; zeros: it is called by itself. */
struct mt_module_caller {
    uint64_t object;
    uint32_t id;
};

/* The name of a module, if it is known: not where another object was at its address, or where it
 * is no longer what it was to its caller. Both objects are alive. Takes no lock. */
uint32_t mt_module_find(uint64_t object, struct mt_module_caller caller);

#define MT_MODULE_OWNERS 16u

/* Looks for a name that is not known among the parts of those that may have the module: its caller
 * first, then the callers of that one; id 0: it has no name yet, or is no module. Where no owner
 * has the module it is its caller's, or the module stands for itself. 0: it cannot be told. */
uint32_t mt_module_resolve(uint64_t object, struct mt_module_caller caller,
                           const struct mt_module_caller *owners, unsigned n);

struct mt_module_name mt_module_name(uint32_t id);

/* For the trace: whether there are names, in a word or two. */
const char *mt_modules_status(void);

/* For a forked child, whose ids begin anew. */
void mt_modules_reset(void);

#endif
