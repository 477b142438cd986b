/* SPDX-License-Identifier: Apache-2.0 */
/* How the layout of a tensor is found, on objects of each layout: with PyTorch's C interface (2.2
 * and later) to agree or not, and without it. Each test is a process of its own. */
#include "fake-aoti.h"
#include "preload/host/safe-read.h"
#include "preload/python/tensor.h"
#include "tests/support/run-tests.h"

#include <dlfcn.h>

#define DATA 0x7f0000200000u
#define SIZE 4096
#define DEVICE 3

/* A TensorImpl and its storage with a head of that many bytes. */
struct made {
    unsigned char impl[256], storage[256];
};

static struct made make(int head, uint8_t device_type)
{
    struct made made;
    memset(&made, 0, sizeof made);
    uint64_t vtable = (uint64_t)(uintptr_t)&make, data = DATA;
    uint8_t device[2] = {device_type, DEVICE};
    memcpy(made.impl, &vtable, sizeof vtable);
    memcpy(made.storage, &vtable, sizeof vtable);
    uint64_t counts = head == MT_HEAD_NEW ? 0x100000001u : 1; /* references */
    memcpy(made.impl + 8, &counts, sizeof counts);
    memcpy(made.storage + 8, &counts, sizeof counts);
    if (head != MT_HEAD_NEW) {
        memcpy(made.impl + 16, &counts, sizeof counts); /* weak ones */
        memcpy(made.storage + 16, &counts, sizeof counts);
    }
    memcpy(made.storage + head, &data, sizeof data);
    memcpy(made.storage + head + MT_STORAGE_DEVICE, device, sizeof device);
    return made;
}

/* The impl of one that stays where it is. */
static const void *link_storage(struct made *made, int head)
{
    const void *storage = made->storage;
    memcpy(made->impl + head, &storage, sizeof storage);
    return made->impl;
}

static void load_pytorch(struct fake_aoti says)
{
    void *library = dlopen(FAKE_AOTI, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(library != NULL, "%s", dlerror());
    struct fake_aoti *spoken = dlsym(library, "fake_aoti");
    ck_assert_ptr_nonnull(spoken);
    *spoken = says;
}

static const struct fake_aoti right = {(void *)(uintptr_t)DATA, 0,      SIZE,
                                       MT_DEVICE_TYPE_CUDA,     DEVICE, 0};
static const int heads[] = {MT_HEAD_NEW, MT_HEAD_OLD};

/* Made, read, and the layout that is settled on. */
static void check_reads(int head)
{
    struct made made = make(head, MT_DEVICE_TYPE_CUDA);
    struct mt_tensor_data place = mt_impl_place(link_storage(&made, head));
    ck_assert_uint_eq(place.address, DATA);
    ck_assert_int_eq(place.device, DEVICE);
    ck_assert_int_eq(mt_tensor_head, head);
    ck_assert_str_eq(mt_tensor_status(), "yes");
    place = mt_impl_place(link_storage(&made, head)); /* known from now on */
    ck_assert_uint_eq(place.address, DATA);
    ck_assert_uint_eq(mt_impl_place(NULL).address, 0);
}

START_TEST(layout_agrees)
{
    load_pytorch(right);
    check_reads(heads[_i]);
}
END_TEST

START_TEST(layout_without_interface)
{
    check_reads(heads[_i]);
}
END_TEST

START_TEST(other_tensors_decide_nothing)
{
    int head = heads[_i];
    load_pytorch(right);
    struct made on_host = make(head, 0), empty = make(head, MT_DEVICE_TYPE_CUDA);
    ck_assert_uint_eq(mt_impl_place(NULL).address, 0);
    ck_assert_uint_eq(mt_tensor_place_unchecked((const void *)16).address, 0); /* no memory */
    ck_assert_uint_eq(mt_impl_place(link_storage(&on_host, head)).address, 0);
    ck_assert_uint_eq(mt_impl_place(empty.impl).address, 0); /* no storage */
    memset(empty.storage + head, 0, 8);                      /* no data */
    ck_assert_uint_eq(mt_impl_place(link_storage(&empty, head)).address, 0);
    ck_assert_int_eq(mt_tensor_head, MT_HEAD_UNKNOWN);
    check_reads(head);
}
END_TEST

START_TEST(view_is_inside)
{
    struct fake_aoti says = right;
    says.offset = 4;
    says.data = (void *)(uintptr_t)(DATA + 16);
    load_pytorch(says);
    check_reads(heads[_i]);
}
END_TEST

START_TEST(view_without_elements_decides_nothing)
{
    struct fake_aoti says = right;
    says.data = NULL;
    load_pytorch(says);
    struct made made = make(heads[_i], MT_DEVICE_TYPE_CUDA);
    ck_assert_uint_eq(mt_impl_place(link_storage(&made, heads[_i])).address, 0);
    ck_assert_int_eq(mt_tensor_head, MT_HEAD_UNKNOWN);
    load_pytorch(right);
    check_reads(heads[_i]);
}
END_TEST

/* What PyTorch says instead; then there are no labels, now and later. */
static const struct fake_aoti wrong[] = {
    {(void *)(uintptr_t)(DATA + 64), 0, SIZE, MT_DEVICE_TYPE_CUDA, DEVICE, 0},
    {(void *)(uintptr_t)(DATA + 2 * SIZE), 4, SIZE, MT_DEVICE_TYPE_CUDA, DEVICE, 0},
    {(void *)(uintptr_t)DATA, 0, SIZE, 0, DEVICE, 0},
    {(void *)(uintptr_t)DATA, 0, SIZE, MT_DEVICE_TYPE_CUDA, DEVICE + 1, 0},
    {(void *)(uintptr_t)DATA, 0, SIZE, MT_DEVICE_TYPE_CUDA, DEVICE, 1},
};

/* More words than one system call copies, and one that is nowhere. */
START_TEST(any_number_of_words_is_read)
{
    uint64_t word[50], address[50], out[51];
    for (unsigned i = 0; i < 50; i++) {
        word[i] = i * i;
        address[i] = (uint64_t)(uintptr_t)&word[49 - i];
    }
    out[50] = 7;
    ck_assert_int_eq(mt_safe_read_words(address, out, 50), 0);
    for (unsigned i = 0; i < 50; i++)
        ck_assert_uint_eq(out[i], word[49 - i]);
    ck_assert_uint_eq(out[50], 7);
    address[40] = 8;
    ck_assert_int_ne(mt_safe_read_words(address, out, 50), 0);
}
END_TEST

START_TEST(layout_is_wrong)
{
    load_pytorch(wrong[_i]);
    struct made made = make(MT_HEAD_NEW, MT_DEVICE_TYPE_CUDA);
    const void *impl = link_storage(&made, MT_HEAD_NEW);
    ck_assert_uint_eq(mt_impl_place(impl).address, 0);
    ck_assert_int_eq(mt_tensor_head, MT_HEAD_WRONG);
    load_pytorch(right);
    ck_assert_uint_eq(mt_impl_place(impl).address, 0);
    ck_assert_str_eq(mt_tensor_status(), "no: the tensor layout of this PyTorch is unknown");
}
END_TEST

/* Objects as torch.func has them: of a class, with an element type, and what they wrap behind it.
 */
enum { DTYPE_AT = 160, VALUE_AT = DTYPE_AT + 16 };

static const void *wrap(struct made *wrapper, const char *class, const void *value)
{
    const uint16_t dtype = 6;
    memset(wrapper, 0, sizeof *wrapper);
    char *const *table = dlsym(dlopen(FAKE_AOTI, RTLD_NOW | RTLD_LOCAL), class);
    ck_assert_ptr_nonnull(table);
    table += 2;
    memcpy(wrapper->impl, &table, sizeof table);
    memcpy(wrapper->impl + DTYPE_AT, &dtype, sizeof dtype);
    memcpy(wrapper->impl + VALUE_AT, &value, sizeof value);
    return wrapper->impl;
}

START_TEST(what_is_wrapped_is_found)
{
    static const char grad[] = "_ZTVN2at9functorch13TensorWrapperE",
                      batch[] = "_ZTVN2at9functorch17BatchedTensorImplE";
    int head = heads[_i];
    const uint16_t dtype = 6;
    uint64_t elements;
    struct made made = make(head, MT_DEVICE_TYPE_CUDA), of_batch, of_grad, again, over, another;
    const void *impl = link_storage(&made, head);
    memcpy(made.impl + DTYPE_AT, &dtype, sizeof dtype);
    load_pytorch(right);
    ck_assert(!mt_impl_place(impl).is_wrapped);
    const void *inner = wrap(&of_batch, batch, impl), *outer = wrap(&of_grad, grad, inner);
    ck_assert_uint_eq(mt_impl_place(outer).address, 0); /* it is not known where types are */
    mt_dtype_offset = DTYPE_AT;
    struct made undefined = {{0}, {0}};
    ck_assert_uint_eq(mt_impl_place(wrap(&over, grad, undefined.impl)).address, 0);
    struct mt_tensor_data place = mt_impl_place(outer);
    ck_assert_uint_eq(place.address, DATA);
    ck_assert_int_eq(place.device, DEVICE);
    ck_assert(place.is_wrapped);
    ck_assert_uint_eq(mt_impl_place_carefully(outer, &elements).address, DATA);
    /* A gradient of a gradient. */
    ck_assert_uint_eq(mt_impl_place(wrap(&again, grad, outer)).address, 0);
    ck_assert_uint_eq(mt_impl_place_carefully(again.impl, &elements).address, 0);
    ck_assert_uint_eq(mt_impl_place(wrap(&another, "fake_aoti", impl)).address, 0);
    wrap(&another, batch, another.impl); /* one that wraps itself */
    ck_assert_uint_eq(mt_impl_place(another.impl).address, 0);
}
END_TEST

START_TEST(leaf_is_found_or_not)
{
    load_pytorch(right);
    check_reads(MT_HEAD_NEW);
    void *node[128] = {NULL};
    mt_learn_leaf(node, node + 1); /* not kept in it */
    ck_assert_str_eq(mt_tensor_status(), "yes, but no gradients: their leaves were not found");
    ck_assert_uint_eq(mt_impl_place(mt_leaf_gradient(node)).address, 0);
}
END_TEST

int main(void)
{
    TCase *tensor = tcase_create("tensor");
    tcase_add_loop_test(tensor, layout_agrees, 0, 2);
    tcase_add_loop_test(tensor, layout_without_interface, 0, 2);
    tcase_add_loop_test(tensor, other_tensors_decide_nothing, 0, 2);
    tcase_add_loop_test(tensor, view_is_inside, 0, 2);
    tcase_add_loop_test(tensor, view_without_elements_decides_nothing, 0, 2);
    tcase_add_loop_test(tensor, layout_is_wrong, 0, sizeof wrong / sizeof *wrong);
    tcase_add_loop_test(tensor, what_is_wrapped_is_found, 0, 2);
    tcase_add_test(tensor, leaf_is_found_or_not);
    tcase_add_test(tensor, any_number_of_words_is_read);
    return RUN_TESTS(tensor);
}
