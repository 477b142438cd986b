/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find a tensor's data from C without calling PyTorch: its calls throw for tensors without storage,
 * and requesting the data can materialize a lazily copied tensor.
 */
#ifndef MT_PRELOAD_TENSOR_H
#define MT_PRELOAD_TENSOR_H

#include "trace-format/dtypes.h"
#include "trace-format/likely.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct mt_tensor_data {
    uint64_t address; /* of the tensor's storage on the device; 0: none, or not on a CUDA device */
    int device;       /* CUDA device index */
    bool is_wrapped;  /* it has no storage: it is sparse, or torch.func wraps a tensor that has */
};

/*
 * c10::TensorImpl and c10::StorageImpl both begin with the head: a vtable pointer and two reference
 * counts, of 4 bytes each (seen in torch 2.6 and 2.15) or of 8 (2.1). After it the TensorImpl has
 * its storage, and the StorageImpl its DataPtr: data, context, deleter, device (type and index, a
 * byte each).
 */
enum { MT_HEAD_UNKNOWN = 0, MT_HEAD_WRONG = -1, MT_HEAD_NEW = 16, MT_HEAD_OLD = 24 };
enum { MT_STORAGE_DEVICE = 24 }; /* after the head */
enum { MT_DEVICE_TYPE_CUDA = 1 };

/* Bytes of the head, known after the first tensor on a device; or an enum value above. */
extern _Atomic int mt_tensor_head;

struct mt_tensor_data mt_tensor_place_unchecked(const void *impl);

static inline struct mt_tensor_data mt_storage_place(const char *storage, int head)
{
    struct mt_tensor_data place = {0};
    uint8_t device[2];
    memcpy(device, storage + head + MT_STORAGE_DEVICE, sizeof device);
    if (device[0] != MT_DEVICE_TYPE_CUDA)
        return place;
    memcpy(&place.address, storage + head, sizeof place.address);
    place.device = (int8_t)device[1];
    return place;
}

/* Find the place of a tensor wrapped by one of torch.func's transforms, unless that is for a
 * gradient of another gradient, where the result of one is the input of the other. impl is a
 * TensorImpl without storage; head as above. */
struct mt_tensor_data mt_wrapped_place(const void *impl, int head);

/* Find the place. impl is a TensorImpl, or NULL. */
static inline struct mt_tensor_data mt_impl_place(const void *impl)
{
    const char *storage;
    int head = mt_tensor_head;
    if (MT_UNLIKELY(head <= 0))
        return mt_tensor_place_unchecked(impl);
    if (!impl)
        return (struct mt_tensor_data){0};
    memcpy(&storage, (const char *)impl + head, sizeof storage);
    return MT_LIKELY(storage) ? mt_storage_place(storage, head) : mt_wrapped_place(impl, head);
}

/* Return the TensorImpl. tensor: an at::Tensor, which is one pointer to it. */
static inline const void *mt_tensor_impl(const void *tensor)
{
    const void *impl;
    memcpy(&impl, tensor, sizeof impl);
    return impl;
}

/* The offset in a TensorImpl of its element type (caffe2::TypeMeta: 16 bits), found at the first
 * tensor and checked with libtorch; 0: unknown so far, -1: not found. */
extern _Atomic int mt_dtype_offset;

unsigned mt_impl_dtype_slow(const void *impl);

/* Return a tensor's element type as in traces (trace-format/dtypes.h), 0 if unknown. impl is that
 * of a tensor with a place. */
static inline unsigned mt_impl_dtype(const void *impl)
{
    uint16_t number;
    int offset = mt_dtype_offset;
    if (MT_UNLIKELY(offset <= 0))
        return mt_impl_dtype_slow(impl);
    memcpy(&number, (const char *)impl + offset, sizeof number);
    return number < MT_DTYPE_LIMIT - 1 ? number + 1u : 0;
}

/* Return the number of a tensor's elements if the offset of their type is known; else 0. */
static inline uint64_t mt_impl_elements(const void *impl)
{
    int64_t elements;
    int offset = mt_dtype_offset;
    if (offset <= 0)
        return 0;
    memcpy(&elements, (const char *)impl + offset - sizeof elements, sizeof elements);
    return elements > 0 ? (uint64_t)elements : 0;
}

/* Find the type as mt_impl_dtype does, for any address. */
unsigned mt_impl_dtype_carefully(const void *impl);

/* Return a tensor's data and its number of elements (0: unknown), for any address. */
struct mt_tensor_data mt_impl_place_carefully(const void *impl, uint64_t *elements);

/* Return the address of a tensor's storage, for any address; 0 if there is none or it is unknown.
 */
uint64_t mt_impl_storage_carefully(const void *impl);

/* Return the number of elements of a tensor, even without data, for any address; 0 if unknown. */
uint64_t mt_impl_elements_carefully(const void *impl);

/* Read the shape of a tensor, at any address. Return its number of dimensions, at most `most`; 0 if
 * it has more, or is unknown. */
unsigned mt_impl_shape_carefully(const void *impl, uint64_t *shape, unsigned most);

/* Return the TensorImpl of an AccumulateGrad node's leaf, or NULL if unknown so far. */
const void *mt_leaf_of(const void *node);

/* Return the TensorImpl of its gradient, or NULL. */
const void *mt_leaf_gradient(const void *leaf);

/* Learn where an AccumulateGrad node keeps its leaf, from a node created for this impl. */
void mt_learn_leaf(const void *node, const void *impl);

/* Return for the trace, as text, whether labels were recorded, and element types with them. */
const char *mt_tensor_status(void);
const char *mt_dtype_status(void);

#endif
