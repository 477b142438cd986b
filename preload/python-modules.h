/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of torch.nn modules, "layers.3.mlp", from the objects that a stack's frames have as
 * their first arguments: a module's name is looked for among the children of those that call it.
 */
#ifndef MT_PRELOAD_PYTHON_MODULES_H
#define MT_PRELOAD_PYTHON_MODULES_H

#include "python-versions.h"

/* Names have ids from 1 up; 0: none, or not known. */
#define MT_MOST_MODULES 65536u

/* Looks at modules by this layout from now on. */
void mt_modules_start(const struct mt_python_layout *layout);

/* Whether frames of this code are at work for their first argument, a module; this is a frame's.
 * The first ones show whether modules can be read at all. Call with the intern lock, as all below
 * but mt_module_find. */
int mt_module_is_caller(uint64_t code, uint64_t object);

/* The name of a module when it is called from within another (0: from none), if it is known: not
 * where another object was at its address. The object is alive. Takes no lock. */
uint32_t mt_module_find(uint64_t object, uint32_t enclosing);

/* Who may have a module: those that call it, the innermost first. */
struct mt_module_owner {
    uint64_t object;
    uint32_t id; /* 0: has no name yet, or is no module */
};
#define MT_MODULE_OWNERS 16u

/* Looks for a name that is not known. Where no owner has the module it is the enclosing one's, or
 * the module stands for itself. 0: it cannot be told. */
uint32_t mt_module_resolve(uint64_t object, uint32_t enclosing,
                           const struct mt_module_owner *owners, unsigned n);

/* String ids: the class of the outermost module, and the path in it (0: it is that one). */
struct mt_module_name {
    uint32_t root, path;
};
struct mt_module_name mt_module_name(uint32_t id);

/* For the trace: whether there are names, in a word or two. */
const char *mt_modules_status(void);

/* For a forked child, whose ids begin anew. */
void mt_modules_reset(void);

#endif
