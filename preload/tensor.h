/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a tensor's data is, from C, without calling PyTorch: its calls throw for tensors without
 * storage, and asking for data can make a lazily copied tensor real.
 */
#ifndef MT_PRELOAD_TENSOR_H
#define MT_PRELOAD_TENSOR_H

#include <stdint.h>
#include <string.h>

struct mt_place {
    uint64_t address; /* of the tensor's storage on the device; 0: none, or not on a CUDA device */
    int device;       /* CUDA device index */
};

/*
 * Byte offsets in c10::TensorImpl and c10::StorageImpl, the same from torch 1.13 to 2.15: both
 * begin with a vtable pointer and 8 bytes of reference counts; then the TensorImpl has its storage,
 * the StorageImpl its DataPtr: data, context, deleter, device (type, index: a byte each).
 */
enum { MT_IMPL_STORAGE = 16, MT_STORAGE_DATA = 16, MT_STORAGE_DEVICE = 40 };

enum { MT_DEVICE_TYPE_CUDA = 1 };

enum mt_layout { MT_LAYOUT_UNCHECKED, MT_LAYOUT_RIGHT, MT_LAYOUT_WRONG };
extern _Atomic int mt_tensor_layout;

struct mt_place mt_tensor_place_unchecked(const void *impl);

static inline struct mt_place mt_storage_place(const char *storage)
{
    struct mt_place place = {0, 0};
    uint8_t device[2];
    memcpy(device, storage + MT_STORAGE_DEVICE, sizeof device);
    if (device[0] != MT_DEVICE_TYPE_CUDA)
        return place;
    memcpy(&place.address, storage + MT_STORAGE_DATA, sizeof place.address);
    place.device = (int8_t)device[1];
    return place;
}

/* impl: a TensorImpl, or NULL. */
static inline struct mt_place mt_impl_place(const void *impl)
{
    const char *storage;
    if (__builtin_expect(mt_tensor_layout != MT_LAYOUT_RIGHT, 0))
        return mt_tensor_place_unchecked(impl);
    if (!impl)
        return (struct mt_place){0, 0};
    memcpy(&storage, (const char *)impl + MT_IMPL_STORAGE, sizeof storage);
    return storage ? mt_storage_place(storage) : (struct mt_place){0, 0};
}

/* tensor: an at::Tensor, which is one pointer to its TensorImpl. */
static inline const void *mt_tensor_impl(const void *tensor)
{
    const void *impl;
    memcpy(&impl, tensor, sizeof impl);
    return impl;
}

/* The place of a leaf's gradient, from its AccumulateGrad node; none: not known yet, or no
 * gradient. */
struct mt_place mt_leaf_gradient(const void *node);

/* Learns where an AccumulateGrad node keeps its leaf; the node was made for this impl. */
void mt_learn_leaf(const void *node, const void *impl);

/* For the trace: whether labels could be had, in a word or two. */
const char *mt_tensor_status(void);

#endif
