/* SPDX-License-Identifier: Apache-2.0 */
#include "gradients.h"
#include "preload/loader/find-real.h"
#include "preload/python/python-objects.h"
#include "preload/python/tensor.h"
#include "preload/record/scan.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define PARTS 8u            /* of a tensor */
#define MOST_SCANS 4u       /* at a gradient that does not change */
#define META_SIZE 256u      /* bytes of a tensor's autograd data, at most: the gradient is in it */
#define MOST_IMPL 512u      /* bytes of a TensorImpl to search */
#define MOST_TRIES 64u      /* to find the Python object's offset in a TensorImpl */
#define RECENT 1024u        /* known gradients */
#define PYTHON_TENSOR 16u   /* offset in a Python object of its TensorImpl, or the word before it */
#define LEAST_ADDRESS 4096u /* no object is below */

static struct {
    const struct mt_python_layout *layout;
    _Atomic int object_offset; /* of the Python object in a TensorImpl; 0: unknown so far */
    _Atomic unsigned tries;
    _Atomic uint64_t undefined; /* the undefined tensor; 1: unknown */
    struct {
        _Atomic uint64_t gradient, slot;
    } recent[RECENT];
} gradients;

void mt_gradients_start(const struct mt_python_layout *layout)
{
    gradients.layout = layout;
}

static uint64_t to_number(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static const void *to_pointer(uint64_t number)
{
    return (const void *)(uintptr_t)number;
}

/* Find the undefined tensor. Not under the allocator's lock, because this calls the loader. */
static void learn_undefined(void)
{
    if (!gradients.undefined) {
        uint64_t found =
            to_number(mt_find_real("_ZN3c1019UndefinedTensorImpl10_singletonE", "libc10.so"));
        gradients.undefined = found ? found : 1;
    }
}

static unsigned place_of(uint64_t impl)
{
    return (unsigned)(impl >> 4 ^ impl >> 14) % RECENT;
}

static void remember(uint64_t gradient, uint64_t slot)
{
    unsigned at = place_of(gradient);
    gradients.recent[at].slot = slot;
    gradients.recent[at].gradient = gradient;
}

bool mt_is_gradient(const void *impl)
{
    uint64_t number = to_number(impl), slot, now;
    unsigned at = place_of(number);
    if (!impl || gradients.recent[at].gradient != number)
        return false;
    slot = gradients.recent[at].slot;
    return !mt_scan_read(slot, &now, sizeof now) && now == number;
}

/* Return whether a tensor is on the host: its storage has data that is on no device. A wrapper of
 * other tensors has no data. */
static bool is_on_host(const void *leaf)
{
    const void *storage, *data;
    int head = mt_tensor_head;
    if (mt_impl_place(leaf).address)
        return false;
    if (head <= 0)
        return true;
    memcpy(&storage, (const char *)leaf + head, sizeof storage);
    if (!storage)
        return false;
    memcpy(&data, (const char *)storage + head, sizeof data);
    return data != NULL;
}

/* Return where a TensorImpl keeps its autograd data, which follows its storage. */
static uint64_t place_of_meta(const void *leaf)
{
    return to_number(leaf) + (uint64_t)mt_tensor_head + sizeof(void *);
}

void mt_gradient_changes(struct mt_thread *self, const void *leaf, const void *slot)
{
    struct mt_gradient new = {.slot = to_number(slot)};
    learn_undefined();
    if (is_on_host(leaf) || mt_tensor_head <= 0)
        return;
    new.leaf = to_number(leaf);
    memcpy(&new.meta, to_pointer(place_of_meta(leaf)), sizeof new.meta);
    memcpy(&new.before, slot, sizeof new.before);
    new.replaced = mt_impl_place(to_pointer(new.before)).address;
    if (new.slot - new.meta >= META_SIZE)
        return; /* another layout */
    if (self->pending.n_gradients == MT_GRADIENTS)
        mt_gradients_scan(self);
    if (self->pending.n_gradients == MT_GRADIENTS) /* none has changed: drop the oldest */
        memmove(self->gradients.waiting, self->gradients.waiting + 1,
                --self->pending.n_gradients * sizeof *self->gradients.waiting);
    self->gradients.waiting[self->pending.n_gradients++] = new;
}

void mt_gradient_is_known(struct mt_thread *self, const void *leaf, const void *gradient)
{
    unsigned i = self->pending.n_gradients;
    while (i && self->gradients.waiting[i - 1].leaf != to_number(leaf))
        i--;
    if (!i)
        return;
    remember(to_number(gradient), self->gradients.waiting[i - 1].slot);
    memmove(&self->gradients.waiting[i - 1], &self->gradients.waiting[i],
            (self->pending.n_gradients - i) * sizeof *self->gradients.waiting);
    self->pending.n_gradients--;
}

static bool is_object_of(uint64_t object, uint64_t impl)
{
    uint64_t word[2];
    return object >= LEAST_ADDRESS && object % 8 == 0 &&
           !mt_scan_read(object + PYTHON_TENSOR, word, sizeof word) &&
           (word[0] == impl || word[1] == impl);
}

/* Read the Python object at an offset. The word's lowest bit says which of the two owns the other.
 */
static uint64_t object_at(uint64_t impl, int offset)
{
    uint64_t word;
    if (mt_scan_read(impl + (uint64_t)offset, &word, sizeof word))
        return 0;
    word &= ~(uint64_t)1;
    return is_object_of(word, impl) ? word : 0;
}

static uint64_t search_object(uint64_t impl)
{
    uint64_t word[MOST_IMPL / 8];
    size_t n = MOST_IMPL / 8;
    if (gradients.tries >= MOST_TRIES)
        return 0;
    gradients.tries++;
    while (n >= 8 && mt_scan_read(impl, word, n * sizeof *word))
        n /= 2;
    for (size_t i = 1; i < n && n >= 8; i++)
        if (is_object_of(word[i] & ~(uint64_t)1, impl)) {
            gradients.object_offset = (int)(i * sizeof *word);
            return word[i] & ~(uint64_t)1;
        }
    return 0;
}

/* Return the Python object of a tensor, which may be freed; 0 if there is none. */
static uint64_t object_of(uint64_t impl)
{
    int offset = gradients.object_offset;
    return offset ? object_at(impl, offset) : search_object(impl);
}

static bool needs_gradient(const void *impl)
{
    typedef _Bool get_requires_grad(const void *impl);
    static get_requires_grad *_Atomic get;
    static _Atomic bool is_resolved;
    if (!atomic_load_explicit(&is_resolved, memory_order_acquire)) {
        get =
            (get_requires_grad *)mt_find_real("_ZNK3c1010TensorImpl13requires_gradEv", "libc10.so");
        atomic_store_explicit(&is_resolved, true, memory_order_release);
    }
    return !get || get(impl);
}

/* Return whether this is the class Tensor itself and not a derived one. */
static bool is_plain_class(uint64_t type, uint64_t object)
{
    static _Atomic uint64_t known;
    char name[16];
    if (type != known && !mt_py_type_name(object, name, sizeof name) && !strcmp(name, "Tensor"))
        known = type;
    return type == known;
}

bool mt_is_no_parameter(const void *impl)
{
    uint64_t object, type;
    if (!impl || !gradients.layout || needs_gradient(impl))
        return false;
    object = object_of(to_number(impl));
    return object && !mt_scan_read(object + MT_OBJECT_TYPE, &type, sizeof type) &&
           is_plain_class(type, object);
}

/* Find the parts as mt_py_tensor_parts does, starting from C++. */
static unsigned parts_of(uint64_t impl, struct mt_py_tensor *part)
{
    part[0] = (struct mt_py_tensor){0};
    part[0].place = mt_impl_place_carefully(to_pointer(impl), &part[0].elements);
    if (part[0].place.address)
        return 1;
    uint64_t object = gradients.layout ? object_of(impl) : 0;
    return object ? mt_py_tensor_parts(gradients.layout, object, part, PARTS) : 0;
}

static void record(struct mt_thread *self, uint64_t leaf, uint64_t gradient)
{
    struct mt_py_tensor of_leaf[PARTS], part[PARTS];
    unsigned n = parts_of(gradient, part);
    uint64_t dtype = mt_impl_dtype_carefully(to_pointer(gradient));
    uint64_t address = n && parts_of(leaf, of_leaf) ? of_leaf[0].place.address : 0;
    for (unsigned i = 0; i < n; i++)
        mt_record(self, MT_GRADIENT, part[i].place.device, 0,
                  MT_ARGS(part[i].place.address, dtype, address));
}

/* Read one by one: one of the leaves may be freed and its memory unmapped. */
static void read_one_by_one(const uint64_t *address, uint64_t *word, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (mt_scan_read(address[i], &word[i], sizeof *word))
            word[i] = 0;
}

static void read_words(const uint64_t *address, uint64_t *word, unsigned n)
{
    if (n && mt_scan_read_words(address, word, n))
        read_one_by_one(address, word, n);
}

static bool is_tensor(uint64_t impl)
{
    return impl && impl != gradients.undefined;
}

/* Read all gradients first. Most have been removed (zero_grad), and then it does not matter whether
 * their leaves still exist. */
void mt_gradients_scan(struct mt_thread *self)
{
    struct mt_gradient waiting[MT_GRADIENTS];
    uint64_t address[MT_GRADIENTS], now[MT_GRADIENTS], meta[MT_GRADIENTS];
    unsigned n = self->pending.n_gradients, changed = 0;
    memcpy(waiting, self->gradients.waiting, n * sizeof *waiting);
    for (unsigned i = 0; i < n; i++)
        address[i] = waiting[i].slot;
    self->pending.n_gradients = 0;
    read_words(address, now, n);
    for (unsigned i = 0; i < n; i++)
        if (now[i] == waiting[i].before && ++waiting[i].looks < MOST_SCANS) {
            self->gradients.waiting[self->pending.n_gradients++] = waiting[i];
        } else if (now[i] != waiting[i].before && is_tensor(now[i])) {
            address[changed] = place_of_meta(to_pointer(waiting[i].leaf));
            now[changed] = now[i];
            waiting[changed++] = waiting[i];
        }
    read_words(address, meta, changed);
    for (unsigned i = 0; i < changed; i++)
        if (meta[i] == waiting[i].meta) { /* otherwise the leaf was freed */
            remember(now[i], waiting[i].slot);
            record(self, waiting[i].leaf, now[i]);
        }
}

void mt_gradients_reset(void)
{
    memset(gradients.recent, 0, sizeof gradients.recent);
}
