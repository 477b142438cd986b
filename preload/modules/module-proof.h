/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs that a torch.nn module is still the same, and still has the same child: addresses are
 * reused, and modules move. Call with the intern lock. */
#ifndef MT_PRELOAD_MODULE_PROOF_H
#define MT_PRELOAD_MODULE_PROOF_H

#include <stdbool.h>

#include "preload/python/python-objects.h"

/* Attributes of every module. */
enum mt_module_attribute {
    MT_MODULE_CHILDREN,
    MT_MODULE_HOOKS, /* an OrderedDict of its own */
    MT_MODULE_ATTRIBUTES
};

/* Find the entry of an attribute. Return 0 or -ENOENT. */
int mt_module_attribute(const struct mt_python_layout *layout, struct mt_py_dict *attributes,
                        enum mt_module_attribute which, struct mt_py_entry *entry);

/* Open the dict of children as *dict. The proof shows that it is the module's. is_alive: the object
 * is certainly alive (mt_py_attributes_alive). Return 0 or -ENOENT. */
int mt_module_children(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                       struct mt_py_dict *children, uint64_t *dict, struct mt_py_proof *proof);

/* Determine what can be proven about this Python's modules. */
void mt_module_proof_start(const struct mt_python_layout *layout);

/* Return whether this object, a module with three dicts, can be proven. */
bool mt_module_is_provable(const struct mt_python_layout *layout, uint64_t object,
                           const uint64_t dict[3]);

/* Prove that the live module is the same. Return 0 or -ENOENT. */
int mt_module_prove(const struct mt_python_layout *layout, uint64_t object,
                    struct mt_py_proof *proof);

/* Prove that the live module has no other children. */
int mt_module_prove_children(const struct mt_python_layout *layout, uint64_t object,
                             struct mt_py_proof *proof);

/* Prove that it still has the child, under the name that is this str. */
int mt_module_prove_child(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                          uint64_t key, uint64_t child, struct mt_py_proof *proof);

#endif
