/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's C++ objects in the graph of references: tensors, storages, and autograd nodes with what
 * they save. An object is identified by its vtable, whose std::type_info names its class. */
#ifndef MT_HOLDERS_TORCH_GRAPH_H
#define MT_HOLDERS_TORCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the head of a TensorImpl or StorageImpl (tensor.h); 0: unknown. */
extern int mt_torch_head;

/* Learn the head from a TensorImpl, and where its type is (tensor.h). */
void mt_torch_learn(uint64_t impl);

/* Reach whatever a node that is not a Python object refers to. */
void mt_torch_expand(uint32_t node);

/* Reach everything that the words refer to, for objects with an unknown layout. */
void mt_torch_scan(uint64_t address, uint64_t words, uint32_t parent);

/* Reach what autocast caches: weights in another type, until the outermost autocast ends. */
void mt_torch_roots_of_autocast(void);

/* Return the mangled class name of a C++ object, or NULL if unknown. */
const char *mt_torch_class(uint64_t object);

/* Return the address of two words of a tensor's autograd data: its gradient and the node that
 * created it; 0: none. */
uint64_t mt_torch_autograd(uint64_t impl);
enum { MT_AUTOGRAD_GRADIENT = 0, MT_AUTOGRAD_NODE = 8 };

#endif
