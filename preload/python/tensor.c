/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"
#include "preload/host/message.h"
#include "preload/host/safe-read.h"
#include "preload/loader/find-real.h"
#include "preload/record/scan.h"
#include "trace-format/likely.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

MT_HOT _Atomic int mt_tensor_head = MT_HEAD_UNKNOWN;

/* The leaf's offset in an AccumulateGrad; 0: unknown so far, -1: not found. */
static MT_HOT _Atomic int leaf_offset;
#define MOST_LEAF_OFFSET 1024

MT_HOT _Atomic int mt_dtype_offset;
#define MOST_IMPL 512 /* bytes of a TensorImpl to search */
#define MOST_TRIES 64

typedef int aoti_get_data(void *tensor, void **out);
typedef int aoti_get_int64(void *tensor, int64_t *out);
typedef int aoti_get_int32(void *tensor, int32_t *out);

enum verdict { NO, YES, UNDECIDED };

/* Check once what we read directly, by libtorch's stable C interface (2.2 and later). */
static enum verdict agrees_with_libtorch(const void *impl, struct mt_tensor_data place)
{
    void *data;
    int64_t offset, nbytes;
    int32_t type, index;
    void *tensor = &impl; /* an at::Tensor */
    aoti_get_data *get_data =
        (aoti_get_data *)mt_find_real("aoti_torch_get_data_ptr", "libtorch_cpu.so");
    aoti_get_int64 *get_offset =
        (aoti_get_int64 *)mt_find_real("aoti_torch_get_storage_offset", "libtorch_cpu.so");
    aoti_get_int64 *get_size =
        (aoti_get_int64 *)mt_find_real("aoti_torch_get_storage_size", "libtorch_cpu.so");
    aoti_get_int32 *get_type =
        (aoti_get_int32 *)mt_find_real("aoti_torch_get_device_type", "libtorch_cpu.so");
    aoti_get_int32 *get_index =
        (aoti_get_int32 *)mt_find_real("aoti_torch_get_device_index", "libtorch_cpu.so");
    if (!get_data || !get_offset || !get_size || !get_type || !get_index)
        return YES; /* an older torch: the values are plausible, and nothing else can be checked */
    if (get_type(tensor, &type) || type != MT_DEVICE_TYPE_CUDA || get_index(tensor, &index) ||
        index != place.device || get_data(tensor, &data) || get_offset(tensor, &offset) ||
        get_size(tensor, &nbytes))
        return NO;
    if (!data)
        return UNDECIDED; /* a view without elements has no data, wherever its storage is */
    uint64_t address = (uint64_t)(uintptr_t)data;
    bool is_inside = offset == 0
                         ? address == place.address
                         : address > place.address && address <= place.address + (uint64_t)nbytes;
    return is_inside ? YES : NO;
}

/* torch.func's transforms wrap a tensor in another one, a TensorImpl without storage. The wrapped
 * tensor is at this distance after the element type. */
#define MOST_WRAPPERS 8u /* one in the other */
#define VALUE_AFTER_DTYPE 16

enum wrapper {
    OF_GRADIENT,
    OF_BATCH,
    NO_WRAPPER
}; /* OF_GRADIENT: grad, vjp and jvp; OF_BATCH: vmap */

static struct {
    _Atomic uint64_t table[NO_WRAPPER]; /* their vtables; 0: this PyTorch has none */
    _Atomic int offset; /* of the wrapped tensor; 0: unknown so far, -1: elsewhere */
} wrappers;

/* Learn the classes of wrappers, which calls the loader. */
static void learn_wrappers(void)
{
    static const char *const name[NO_WRAPPER] = {"_ZTVN2at9functorch13TensorWrapperE",
                                                 "_ZTVN2at9functorch17BatchedTensorImplE"};
    for (size_t i = 0; i < NO_WRAPPER; i++) {
        void *const *table = mt_find_real(name[i], "libtorch_cpu.so");
        wrappers.table[i] = table ? (uint64_t)(uintptr_t)(table + 2) : 0;
    }
}

typedef int read_bytes(uint64_t address, void *out, size_t size);

static int read_directly(uint64_t address, void *out, size_t size)
{
    memcpy(out, (const void *)(uintptr_t)address, size);
    return 0;
}

static enum wrapper wrapper_of(uint64_t impl, read_bytes *read)
{
    uint64_t table;
    unsigned i = 0;
    if (read(impl, &table, sizeof table) || !table)
        return NO_WRAPPER;
    while (i < NO_WRAPPER && table != wrappers.table[i])
        i++;
    return (enum wrapper)i;
}

/* Return where a wrapper has its value, whose elements are of the same type; 0 if unknown. A
 * wrapper whose transform is over has none and decides nothing. */
static int value_offset(uint64_t impl)
{
    uint64_t dtype = mt_dtype_offset > 0 ? (uint64_t)mt_dtype_offset : 0, value;
    uint16_t of_wrapper, of_value;
    if (wrappers.offset || !dtype)
        return wrappers.offset > 0 ? wrappers.offset : 0;
    if (mt_scan_read(impl + dtype + VALUE_AFTER_DTYPE, &value, sizeof value) ||
        mt_scan_read(impl + dtype, &of_wrapper, sizeof of_wrapper) ||
        mt_scan_read(value + dtype, &of_value, sizeof of_value))
        wrappers.offset = -1;
    else if (of_value == of_wrapper)
        wrappers.offset = (int)dtype + VALUE_AFTER_DTYPE;
    return wrappers.offset > 0 ? wrappers.offset : 0;
}

/* Return the storage of the wrapped tensor; 0 if there is none or its place is unknown. */
static uint64_t wrapped_storage(uint64_t impl, int head, read_bytes *read)
{
    uint64_t storage = 0;
    unsigned gradients = 0;
    for (unsigned i = 0; i < MOST_WRAPPERS && !storage; i++) {
        enum wrapper wrapper = wrapper_of(impl, read);
        unsigned offset = wrapper == NO_WRAPPER ? 0 : (unsigned)value_offset(impl);
        gradients += wrapper == OF_GRADIENT;
        if (!offset || gradients > 1 || read(impl + offset, &impl, sizeof impl) || !impl ||
            read(impl + (unsigned)head, &storage, sizeof storage))
            return 0;
    }
    return storage;
}

struct mt_tensor_data mt_wrapped_place(const void *impl, int head)
{
    struct mt_tensor_data place = {0};
    uint64_t storage = wrapped_storage((uintptr_t)impl, head, read_directly);
    if (storage)
        place = mt_storage_place((const char *)(uintptr_t)storage, head);
    place.is_wrapped = true;
    return place;
}

/* Read like mt_impl_place, from any address. */
static struct mt_tensor_data read_carefully(const void *impl, int head)
{
    uint64_t storage;
    char object[MT_HEAD_OLD + MT_STORAGE_DEVICE + 2];
    if (!impl || mt_scan_read((uintptr_t)impl + (unsigned)head, &storage, sizeof storage))
        return (struct mt_tensor_data){0};
    if (!storage)
        storage = wrapped_storage((uintptr_t)impl, head, mt_scan_read);
    if (!storage || mt_scan_read(storage, object, sizeof object))
        return (struct mt_tensor_data){0};
    return mt_storage_place(object, head);
}

uint64_t mt_impl_storage_carefully(const void *impl)
{
    uint64_t storage;
    int head = mt_tensor_head;
    return impl && head > 0 &&
                   !mt_scan_read((uintptr_t)impl + (unsigned)head, &storage, sizeof storage)
               ? storage
               : 0;
}

struct mt_tensor_data mt_impl_place_carefully(const void *impl, uint64_t *elements)
{
    int head = mt_tensor_head, at = mt_dtype_offset - (int)sizeof *elements;
    struct mt_tensor_data place =
        head > 0 ? read_carefully(impl, head) : (struct mt_tensor_data){0};
    *elements = 0;
    if (place.address && at > 0 &&
        mt_scan_read((uintptr_t)impl + (unsigned)at, elements, sizeof *elements))
        *elements = 0;
    return place;
}

uint64_t mt_impl_elements_carefully(const void *impl)
{
    int at = mt_dtype_offset - (int)sizeof(int64_t);
    int64_t elements;
    if (!impl || at <= 0 ||
        mt_scan_read((uintptr_t)impl + (unsigned)at, &elements, sizeof elements))
        return 0;
    return elements > 0 ? (uint64_t)elements : 0;
}

/* Read the shape. A TensorImpl has it as c10::impl::SizesAndStrides: the number of dimensions, up
 * to 5 sizes and as many strides; then the offset in the storage, and the number of elements. */
unsigned mt_impl_shape_carefully(const void *impl, uint64_t *shape, unsigned most)
{
    enum { INLINE = 5, WORDS = 1 + 2 * INLINE + 2 };
    uint64_t word[WORDS], product = 1;
    int end = mt_dtype_offset;
    if (!impl || end < (int)sizeof word ||
        mt_scan_read((uintptr_t)impl + (unsigned)end - sizeof word, word, sizeof word) ||
        word[0] > most || word[0] > INLINE)
        return 0;
    for (unsigned i = 0; i < word[0]; i++) {
        shape[i] = word[1 + i];
        if (__builtin_mul_overflow(product, shape[i], &product))
            return 0;
    }
    return product == word[WORDS - 1] ? (unsigned)word[0] : 0;
}

unsigned mt_impl_dtype_carefully(const void *impl)
{
    uint16_t number;
    int offset = mt_dtype_offset;
    if (offset <= 0 || mt_scan_read((uintptr_t)impl + (unsigned)offset, &number, sizeof number))
        return 0;
    return number < MT_DTYPE_LIMIT - 1 ? number + 1u : 0;
}

/* Settle the layout. Other threads may reach the same result meanwhile. */
static void settle(int head)
{
    int unknown = MT_HEAD_UNKNOWN;
    learn_wrappers();
    if (atomic_compare_exchange_strong(&mt_tensor_head, &unknown, head) && head == MT_HEAD_WRONG)
        mt_message("the tensor layout of this PyTorch is unknown; "
                   "recording without autograd labels");
}

/* Find the place. The first tensor on a device decides which of the layouts is right. */
struct mt_tensor_data mt_tensor_place_unchecked(const void *impl)
{
    static const int heads[] = {MT_HEAD_NEW, MT_HEAD_OLD};
    struct mt_tensor_data place = {0};
    for (unsigned i = 0; i < 2 && mt_tensor_head != MT_HEAD_WRONG; i++) {
        place = read_carefully(impl, heads[i]);
        if (!place.address)
            continue;
        enum verdict verdict = agrees_with_libtorch(impl, place);
        if (verdict != UNDECIDED)
            settle(verdict == YES ? heads[i] : MT_HEAD_WRONG);
        return verdict == YES ? place : (struct mt_tensor_data){0};
    }
    return (struct mt_tensor_data){0};
}

void mt_learn_leaf(const void *node, const void *impl)
{
    char object[MOST_LEAF_OFFSET];
    size_t size = sizeof object;
    if (atomic_load_explicit(&leaf_offset, memory_order_relaxed) || !impl || !mt_can_read_safely())
        return;
    while (size >= 64 && mt_safe_read(node, object, size))
        size /= 2;
    for (size_t at = sizeof(void *); at + sizeof impl <= size && size >= 64; at += sizeof impl)
        if (!memcmp(object + at, &impl, sizeof impl)) {
            atomic_store(&leaf_offset, (int)at);
            return;
        }
    atomic_store(&leaf_offset, -1);
    mt_message("cannot find the leaves of gradients in this PyTorch; recording without "
               "gradient labels");
}

/* A TensorImpl has numel_, data_type_ and device_opt_ consecutively. */
struct numbers {
    int64_t numel;
    uint16_t dtype; /* mt_impl_elements expects numel just before it */
    uint8_t device_type, device_index, has_device;
};
#define NUMBERS_SIZE 13

/* Return the numbers' offset in the object, or -1 if there is none, or several. */
static int find_numbers(const char *object, size_t size, const struct numbers *wanted)
{
    int found = -1;
    for (size_t at = 0; at + NUMBERS_SIZE <= size; at += sizeof(int64_t)) {
        if (memcmp(object + at, wanted, NUMBERS_SIZE))
            continue;
        if (found >= 0)
            return -1;
        found = (int)at;
    }
    return found;
}

enum { NOT_FOUND = -1, NO_WAY = -2 };

static int find_dtype(const void *impl)
{
    struct numbers wanted = {.device_type = MT_DEVICE_TYPE_CUDA, .has_device = 1};
    char object[MOST_IMPL];
    size_t size = sizeof object;
    int32_t dtype;
    void *tensor = &impl; /* an at::Tensor */
    aoti_get_int64 *get_numel =
        (aoti_get_int64 *)mt_find_real("aoti_torch_get_numel", "libtorch_cpu.so");
    aoti_get_int32 *get_dtype =
        (aoti_get_int32 *)mt_find_real("aoti_torch_get_dtype", "libtorch_cpu.so");
    if (!get_numel || !get_dtype)
        return NO_WAY;
    if (get_numel(tensor, &wanted.numel) || get_dtype(tensor, &dtype))
        return NOT_FOUND;
    wanted.dtype = (uint16_t)dtype;
    wanted.device_index = (uint8_t)mt_impl_place(impl).device;
    while (size >= 64 && mt_safe_read(impl, object, size))
        size /= 2;
    int at = size >= 64 ? find_numbers(object, size, &wanted) : -1;
    return at < 0 ? NOT_FOUND : at + (int)offsetof(struct numbers, dtype);
}

/* Find the type. A tensor may match at two places: then the next one decides. */
unsigned mt_impl_dtype_slow(const void *impl)
{
    static _Atomic int tries;
    if (mt_dtype_offset < 0 || mt_tensor_head <= 0)
        return 0;
    int found = find_dtype(impl);
    if (found > 0)
        mt_dtype_offset = found;
    else if (found == NO_WAY || atomic_fetch_add(&tries, 1) >= MOST_TRIES)
        mt_dtype_offset = -1;
    return mt_dtype_offset > 0 ? mt_impl_dtype(impl) : 0;
}

const void *mt_leaf_of(const void *node)
{
    const void *impl = NULL;
    int offset = atomic_load_explicit(&leaf_offset, memory_order_relaxed);
    if (offset > 0)
        memcpy(&impl, (const char *)node + offset, sizeof impl);
    return impl;
}

const void *mt_leaf_gradient(const void *leaf)
{
    typedef const void *get_gradient(const void *impl);
    static get_gradient *_Atomic gradient;
    static _Atomic bool is_resolved;
    if (!atomic_load_explicit(&is_resolved, memory_order_acquire)) {
        /* c10::TensorImpl::grad() const: a reference to an at::Tensor, perhaps an undefined one */
        gradient = (get_gradient *)mt_find_real("_ZNK3c1010TensorImpl4gradEv", "libc10.so");
        atomic_store_explicit(&is_resolved, true, memory_order_release);
    }
    return leaf && gradient ? mt_tensor_impl(gradient(leaf)) : NULL;
}

const char *mt_dtype_status(void)
{
    if (mt_dtype_offset > 0)
        return "yes";
    return mt_dtype_offset < 0 ? "no: where this PyTorch keeps a tensor's type is unknown"
                               : "no: no label was seen";
}

const char *mt_tensor_status(void)
{
    switch (mt_tensor_head) {
    case MT_HEAD_UNKNOWN:
        return "no: no tensor on a device was seen by autograd";
    case MT_HEAD_WRONG:
        return "no: the tensor layout of this PyTorch is unknown";
    }
    return leaf_offset < 0 ? "yes, but no gradients: their leaves were not found" : "yes";
}
