/* SPDX-License-Identifier: Apache-2.0 */
#include "torch-graph.h"
#include "picture.h"
#include "preload/host/memory.h"
#include "preload/python/tensor.h"

int mt_torch_head;

enum cpp_class { UNKNOWN, NOT_CPP, TENSOR, STORAGE, NODE, OTHER };

#define KNOWN 4096u /* vtables */
#define LOWEST 65536u
#define HIGHEST (UINT64_C(1) << 47)
#define MOST_CHUNK (UINT64_C(1) << 20)
#define MOST_DEPTH 3u /* of chunks nested in each other, from an object of a known class */

static bool is_pointer(uint64_t word)
{
    return word >= LOWEST && word < HIGHEST && word % 8 == 0;
}

/* Return the name in a std::type_info, or NULL if this is not one. Its first two words are its own
 * vtable and the name. */
static const char *name_in(uint64_t info)
{
    if (!is_pointer(info) || !mt_is_readable(info, 16) || !is_pointer(mt_word(info)))
        return NULL;
    uint64_t name = mt_word(info + 8);
    if (name < LOWEST || name >= HIGHEST || !mt_is_readable(name, 8))
        return NULL;
    const char *text = (const char *)(uintptr_t)name;
    text += *text == '*'; /* of a type that is local to its library */
    return *text == 'N' || *text == 'S' || (*text >= '1' && *text <= '9') ? text : NULL;
}

static uint64_t info_of(uint64_t vtable)
{
    return is_pointer(vtable) && mt_is_readable(vtable - 16, 24) && !mt_word(vtable - 16)
               ? mt_word(vtable - 8)
               : 0;
}

/* Find the class by its name or a base class's. With one base, the type_info has its address after
 * the name; with several, two ints before it. */
static enum cpp_class class_by_name(uint64_t info)
{
    static const struct {
        const char *name;
        enum cpp_class is;
    } known[] = {{"N3c1010TensorImplE", TENSOR},
                 {"N3c1011StorageImplE", STORAGE},
                 {"N5torch8autograd4NodeE", NODE}};
    const char *name = name_in(info);
    if (!name)
        return NOT_CPP;
    for (unsigned depth = 0; name && depth < 8; depth++) {
        for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name))
                return known[i].is;
        uint64_t base = mt_is_readable(info + 16, 16) ? mt_word(info + 16) : 0;
        if (!name_in(base))
            base = mt_is_readable(info + 24, 8) ? mt_word(info + 24) : 0;
        info = base;
        name = name_in(info);
    }
    return OTHER;
}

/* Return the class of the object at an address. */
static enum cpp_class class_of(uint64_t object)
{
    static struct {
        uint64_t vtable;
        enum cpp_class is;
    } *known; /* only the child has this memory */
    if (!is_pointer(object) || !mt_is_readable(object, 16))
        return NOT_CPP;
    uint64_t vtable = mt_word(object);
    if (!is_pointer(vtable))
        return NOT_CPP;
    unsigned i = (unsigned)(vtable >> 3 ^ vtable >> 15) % KNOWN;
    if (!known && !(known = mt_map(KNOWN * sizeof *known)))
        return class_by_name(info_of(vtable));
    if (known[i].vtable != vtable) {
        known[i].vtable = vtable;
        known[i].is = class_by_name(info_of(vtable));
    }
    return known[i].is;
}

const char *mt_torch_class(uint64_t object)
{
    return class_of(object) == NOT_CPP ? NULL : name_in(info_of(mt_word(object)));
}

/* Return whether a tensor's number of elements stands there: after its shape, whose product it is,
 * and before its type and its device, that of its storage. */
static bool is_numel(uint64_t at, unsigned device)
{
    enum { INLINE = 5, SHAPE = 8 * (1 + 2 * INLINE + 1) };
    uint64_t n = mt_word(at - SHAPE), product = 1;
    for (unsigned i = 0; i < n && n <= INLINE; i++)
        if (__builtin_mul_overflow(product, mt_word(at - SHAPE + 8 * (i + 1)), &product))
            return false;
    uint64_t after = mt_word(at + 8); /* 2 bytes of type, 1 each of device: its type, index, has */
    return n <= INLINE && product && product == mt_word(at) &&
           (uint16_t)after < MT_DTYPE_LIMIT - 1 &&
           (after >> 16 & 0xffffff) == (MT_DEVICE_TYPE_CUDA | device << 8 | 1u << 16);
}

/* Learn where tensors have their types, unless the recorder has already seen a tensor that shows
 * it. */
static void learn_type(uint64_t impl)
{
    enum { FIRST = 8 * 16, MOST = 8 * 40 };
    struct mt_tensor_data place = mt_storage_place(
        (const char *)(uintptr_t)mt_word(impl + (unsigned)mt_torch_head), mt_torch_head);
    uint64_t found = 0;
    unsigned n = 0;
    if (!place.address || !mt_is_readable(impl, MOST + 16))
        return;
    for (uint64_t at = impl + FIRST; at < impl + MOST; at += 8)
        if (is_numel(at, (unsigned)place.device)) {
            found = at;
            n++;
        }
    if (n == 1)
        mt_dtype_offset = (int)(found + 8 - impl);
}

void mt_torch_learn(uint64_t impl)
{
    static const int heads[] = {MT_HEAD_NEW, MT_HEAD_OLD};
    if (mt_torch_head && mt_dtype_offset > 0)
        return;
    if (class_of(impl) != TENSOR)
        return;
    for (unsigned i = 0; i < 2 && !mt_torch_head; i++)
        if (mt_is_readable(impl, 64) && class_of(mt_word(impl + (unsigned)heads[i])) == STORAGE)
            mt_torch_head = heads[i];
    if (mt_torch_head && mt_dtype_offset <= 0 &&
        class_of(mt_word(impl + (unsigned)mt_torch_head)) == STORAGE)
        learn_type(impl);
}

/* Return how many bytes the C library's heap has from there on, if a piece in use begins there: its
 * size is before it, with three bits of state, and the next one's says that it is in use. */
static uint64_t heap_bytes(uint64_t address)
{
    if (address % 16 || !mt_is_readable(address - 8, 8))
        return 0;
    uint64_t head = mt_word(address - 8), size = head & ~UINT64_C(7);
    if (size < 32 || size > MOST_CHUNK || size % 16 || !mt_is_readable(address - 8 + size, 8) ||
        !(mt_word(address - 8 + size) & 1))
        return 0;
    return size - 8;
}

/* Return the bytes of an object, which may follow the counts of a std::shared_ptr. */
static uint64_t object_bytes(uint64_t address)
{
    enum { COUNTS = 16, LIKELY_SIZE = 640 };
    uint64_t size = heap_bytes(address);
    if (!size && (size = heap_bytes(address - COUNTS)))
        size -= COUNTS;
    return size ? size : LIKELY_SIZE;
}

static unsigned depth_of(uint32_t node)
{
    unsigned depth = 0;
    while (!(node & MT_ROOT_BIT) && mt_picture.sort[node] == MT_NODE_CHUNK) {
        node = mt_picture.parent[node];
        depth++;
    }
    return depth;
}

static void scan(uint64_t address, uint64_t words, uint32_t parent, unsigned depth);

/* Scan the items of a std::vector, whose begin, end and end of room are three words in a row. */
static void scan_vector(uint64_t address, uint32_t parent, unsigned depth)
{
    uint64_t begin = mt_word(address), end = mt_word(address + 8), room = mt_word(address + 16);
    if (begin < end && end <= room && room - begin <= MOST_CHUNK && (end - begin) % 8 == 0 &&
        heap_bytes(begin) >= room - begin && mt_is_readable(begin, end - begin))
        scan(begin, (end - begin) / 8, parent, depth + 1);
}

static void reach_word(uint64_t word, uint32_t parent, unsigned depth)
{
    uint32_t object = mt_picture_find(word);
    if (object != MT_NO_NODE && mt_picture.sort[object] == MT_NODE_OBJECT) {
        mt_picture_reach(word, MT_NODE_OBJECT, parent);
        return;
    }
    switch (class_of(word)) {
    case TENSOR:
        mt_picture_reach(word, MT_NODE_IMPL, parent);
        break;
    case STORAGE:
        mt_picture_reach(word, MT_NODE_STORAGE, parent);
        break;
    case NODE:
        mt_picture_reach_later(word, MT_NODE_GRAPH, parent);
        break;
    case OTHER:
        if (depth < MOST_DEPTH && heap_bytes(word))
            mt_picture_reach(word, MT_NODE_CHUNK, parent);
        break;
    case UNKNOWN:
    case NOT_CPP:
        break;
    }
}

static void scan(uint64_t address, uint64_t words, uint32_t parent, unsigned depth)
{
    if (!mt_is_readable(address, words * 8))
        return;
    for (uint64_t i = 0; i < words; i++) {
        uint64_t at = address + 8 * i, word = mt_word(at);
        if (!is_pointer(word))
            continue;
        reach_word(word, parent, depth);
        if (i + 2 < words && depth < MOST_DEPTH)
            scan_vector(at, parent, depth);
    }
}

void mt_torch_scan(uint64_t address, uint64_t words, uint32_t parent)
{
    scan(address, words, parent, depth_of(parent));
}

/* Return the address of a tensor's autograd data; 0: none. */
static uint64_t meta_of(uint64_t impl)
{
    uint64_t meta = mt_torch_head ? mt_word(impl + (unsigned)mt_torch_head + 8) : 0;
    return class_of(meta) == OTHER && mt_is_readable(meta, 64) ? meta : 0;
}

/* The data begin with a name, a std::string of four words, the second its length; in wheels built
 * with the C++ ABI before C++11, of one word, and the next is a pointer. */
static uint64_t gradient_in(uint64_t meta)
{
    enum { AFTER_OLD_NAME = 16, AFTER_NAME = 40 };
    return meta + (mt_word(meta + AFTER_OLD_NAME) < LOWEST ? AFTER_NAME : AFTER_OLD_NAME);
}

uint64_t mt_torch_autograd(uint64_t impl)
{
    uint64_t meta = meta_of(impl);
    return meta ? gradient_in(meta) : 0;
}

/* A tensor has its storage, and autograd's data: a name, the gradient, the node that made it, a
 * weak pointer to the node that takes its gradient, more of forward mode, hooks, the base of a
 * view. */
static void expand_impl(uint64_t impl, uint32_t node)
{
    enum { AFTER_WEAK = 40 };
    if (!mt_torch_head || !mt_is_readable(impl, 64))
        return;
    uint64_t storage = mt_word(impl + (unsigned)mt_torch_head), meta = meta_of(impl);
    if (class_of(storage) == STORAGE)
        mt_picture_reach(storage, MT_NODE_STORAGE, node);
    if (!meta)
        return;
    uint64_t own = gradient_in(meta), end = meta + heap_bytes(meta);
    reach_word(mt_word(own + MT_AUTOGRAD_GRADIENT), node, 0);
    reach_word(mt_word(own + MT_AUTOGRAD_NODE), node, 0);
    if (end > own + AFTER_WEAK)
        scan(own + AFTER_WEAK, (end - own - AFTER_WEAK) / 8, node, 1);
}

void mt_torch_expand(uint32_t node)
{
    uint64_t address = mt_picture.address[node];
    switch (mt_picture.sort[node]) {
    case MT_NODE_IMPL:
        expand_impl(address, node);
        break;
    case MT_NODE_GRAPH:
    case MT_NODE_CHUNK:
        scan(address, object_bytes(address) / 8, node, depth_of(node));
        break;
    }
}

/* An entry of autocast's cache, which is a table in one piece: a weight, the tensor in another
 * type, and a weak pointer to the weight (a std::tuple has its last part first). */
static void reach_cached(uint64_t table, uint64_t size)
{
    for (uint64_t at = table; at + 24 <= table + size; at += 8) {
        uint64_t weight = mt_word(at), tensor = mt_word(at + 8);
        if (is_pointer(weight) && weight == mt_word(at + 16) && weight != tensor &&
            class_of(weight) == TENSOR && class_of(tensor) == TENSOR)
            mt_picture_reach(tensor, MT_NODE_IMPL,
                             mt_picture_add_root(MT_ROOT_AUTOCAST, weight, 0));
    }
}

/* Reach the entries of a variable's table. */
static __attribute__((noinline)) void reach_table(uint64_t variable)
{
    if (!MT_MAY_CRASH())
        return;
    uint64_t table = mt_word(variable), size = is_pointer(table) ? heap_bytes(table) : 0;
    if (size)
        reach_cached(table, size);
    mt_crash_over();
}

void mt_torch_roots_of_autocast(void)
{
    for (uint32_t i = 0; i < mt_picture_n_torch_variables; i++)
        for (uint64_t at = mt_picture_torch_variables[i].begin;
             at < mt_picture_torch_variables[i].end; at += 8)
            reach_table(at);
}
