/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's C++ objects in a picture of the program's memory: tensors, storages, and autograd's
 * nodes with what they save. An object is known by its vtable, whose std::type_info says its class.
 */
#ifndef MT_HOLDERS_TORCH_GRAPH_H
#define MT_HOLDERS_TORCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the head of a TensorImpl or StorageImpl (tensor.h); 0: not known. */
extern int mt_torch_head;

/* Learn the head from a TensorImpl, and where it has its type (tensor.h). */
void mt_torch_learn(uint64_t impl);

/* Reach what a node that is not of Python refers to. */
void mt_torch_expand(uint32_t node);

/* Reach everything that the words refer to: for objects whose layout is not known. */
void mt_torch_scan(uint64_t address, uint64_t words, uint32_t parent);

/* Reach what autocast keeps: weights in another type, until the outermost autocast ends. */
void mt_torch_roots_of_autocast(void);

/* Return the class of a C++ object, mangled; NULL: not known. */
const char *mt_torch_class(uint64_t object);

/* Return the address of two words of a tensor's autograd data: its gradient, and the node that made
 * it; 0: none. */
uint64_t mt_torch_autograd(uint64_t impl);
enum { MT_AUTOGRAD_GRADIENT = 0, MT_AUTOGRAD_NODE = 8 };

#endif
