/* SPDX-License-Identifier: Apache-2.0 */
/* What shows later on that a torch.nn module is still the same one, and still has the same part:
 * addresses are used again, and modules move. Call with the intern lock. */
#ifndef MT_PRELOAD_MODULE_PROOF_H
#define MT_PRELOAD_MODULE_PROOF_H

#include <stdbool.h>

#include "preload/python/python-objects.h"

/* Attributes that each module has. */
enum mt_module_attribute {
    MT_MODULE_CHILDREN,
    MT_MODULE_HOOKS, /* an OrderedDict that no other module has */
    MT_MODULE_ATTRIBUTES
};

/* The entry of one of them: 0, or -ENOENT. */
int mt_module_attribute(const struct mt_python_layout *layout, struct mt_py_dict *attributes,
                        enum mt_module_attribute which, struct mt_py_entry *entry);

/* Opens the dict of children, which is at *dict; the proof shows that it is the module's. is_alive:
 * the object lives for certain (mt_py_attributes_alive). 0, or -ENOENT. */
int mt_module_children(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                       struct mt_py_dict *children, uint64_t *dict, struct mt_py_proof *proof);

/* What can be proven of this Python's modules. */
void mt_module_proof_start(const struct mt_python_layout *layout);

/* Whether it can be of this one, which is a module with three dicts. */
bool mt_module_is_provable(const struct mt_python_layout *layout, uint64_t object,
                           const uint64_t dict[3]);

/* That the module, which lives, is the same: 0, or -ENOENT. */
int mt_module_prove(const struct mt_python_layout *layout, uint64_t object,
                    struct mt_py_proof *proof);

/* That the module, which lives, has got no other children. */
int mt_module_prove_children(const struct mt_python_layout *layout, uint64_t object,
                             struct mt_py_proof *proof);

/* That it still has the child, under the name that is this str. */
int mt_module_prove_child(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                          uint64_t key, uint64_t child, struct mt_py_proof *proof);

#endif
