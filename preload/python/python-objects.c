/* SPDX-License-Identifier: Apache-2.0 */
#include "python-objects.h"
#include "preload/record/scan.h"
#include "python-code.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct mt_py_types mt_py_types;

/* Byte offsets common to all versions. */
enum {
    TYPE_NAME = 24,
    TYPE_BASIC_SIZE = 32,
    TYPE_FLAGS = 168,
    TYPE_BASE = 256,
    TYPE_DICT = 264,
    TYPE_DICT_OFFSET = 288,
    TYPE_MRO = 344,
    ITEMS_SIZE = 16,
    LIST_ITEMS = 24, /* their address */
    TENSOR = 16,     /* in PyTorch's THPVariable */
    DICT_VALUES = 40,
    /* before an object with a managed dict, from 3.11 on; values only in 3.11 */
    MANAGED_DICT = -24,
    MANAGED_VALUES = -32,
};

enum { FLAG_INLINE_VALUES = 1 << 2, FLAG_MANAGED_DICT = 1 << 4 };
enum { FLAG_LIST = 1 << 25, FLAG_TUPLE = 1 << 26, FLAG_DICT = 1 << 29 };

#define MOST_ENTRIES (1u << 20)
#define MOST_BASES 32u

static int read_bytes(uint64_t address, void *out, size_t size)
{
    return mt_scan_read(address, out, size);
}

/* Read directly what a live object keeps alive. */
static int read_as(bool is_alive, uint64_t address, void *out, size_t size)
{
    if (!is_alive)
        return read_bytes(address, out, size);
    memcpy(out, (const void *)(uintptr_t)address, size);
    return 0;
}

int mt_py_read(uint64_t address, uint64_t *out)
{
    return read_bytes(address, out, sizeof *out);
}

/* Open keys up to 3.10: size, entries, then indices as wide as the size needs. */
static void open_keys_310(struct mt_py_dict *dict, uint64_t keys, const uint64_t head[5])
{
    uint64_t size = head[1];
    unsigned width = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
    dict->entries = keys + 40 + size * width;
    dict->n = head[4] < MOST_ENTRIES && size < MOST_ENTRIES * 2 ? (unsigned)head[4] : 0;
    dict->stride = 3;
}

/* Open keys from 3.11 on: the logarithms of the size and of the indices' bytes, and the kind of
 * keys. */
static void open_keys_311(struct mt_py_dict *dict, uint64_t keys, const uint64_t head[5])
{
    unsigned char byte[8];
    memcpy(byte, &head[1], sizeof byte);
    dict->entries = keys + 32 + ((uint64_t)1 << (byte[1] & 31));
    dict->n = head[3] < MOST_ENTRIES ? (unsigned)head[3] : 0;
    dict->stride = byte[2] ? 2 : 3; /* keys that are all str have no hash */
}

static int open_dict(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                     struct mt_py_dict *dict)
{
    uint64_t word[6], head[5];
    memset(dict, 0, offsetof(struct mt_py_dict, entry));
    dict->is_alive = is_alive;
    if (!object || read_as(is_alive, object, word, sizeof word) ||
        (word[1] != (uint64_t)(uintptr_t)mt_py_types.dict &&
         word[1] != (uint64_t)(uintptr_t)mt_py_types.ordered_dict &&
         mt_py_sort(object) != MT_PY_DICT))
        return -EINVAL;
    if (!word[MT_DICT_USED / 8])
        return 0;
    if (read_as(is_alive, word[MT_DICT_KEYS / 8], head, sizeof head))
        return -EINVAL;
    if (layout->attributes == MT_ATTRIBUTES_310)
        open_keys_310(dict, word[MT_DICT_KEYS / 8], head);
    else
        open_keys_311(dict, word[MT_DICT_KEYS / 8], head);
    if (word[DICT_VALUES / 8])
        dict->values = word[DICT_VALUES / 8] + (layout->attributes >= MT_ATTRIBUTES_313 ? 8 : 0);
    return 0;
}

int mt_py_dict_open(const struct mt_python_layout *layout, uint64_t object, struct mt_py_dict *dict)
{
    return open_dict(layout, object, 0, dict);
}

int mt_py_dict_open_alive(const struct mt_python_layout *layout, uint64_t object,
                          struct mt_py_dict *dict)
{
    uint64_t type = object ? mt_py_word(object, MT_OBJECT_TYPE) : 0;
    bool is_dict = type && (type == (uint64_t)(uintptr_t)mt_py_types.dict ||
                            type == (uint64_t)(uintptr_t)mt_py_types.ordered_dict);
    return open_dict(layout, object, is_dict, dict);
}

static int fill(struct mt_py_dict *dict, unsigned first)
{
    unsigned n = dict->n - first < MT_PY_CHUNK ? dict->n - first : MT_PY_CHUNK;
    size_t size = (size_t)dict->stride * 8;
    dict->filled = 0;
    if (read_as(dict->is_alive, dict->entries + first * size, dict->entry, n * size) ||
        (dict->values && read_as(dict->is_alive, dict->values + first * sizeof(uint64_t),
                                 dict->value, n * sizeof(uint64_t))))
        return -EFAULT;
    dict->first = first;
    dict->filled = n;
    return 0;
}

int mt_py_dict_at(struct mt_py_dict *dict, unsigned i, struct mt_py_entry *entry)
{
    if (i >= dict->n || ((i < dict->first || i - dict->first >= dict->filled) && fill(dict, i)))
        return -EFAULT;
    const uint64_t *words = &dict->entry[(i - dict->first) * dict->stride];
    entry->key = words[dict->stride - 2];
    entry->value = dict->values ? dict->value[i - dict->first] : words[dict->stride - 1];
    entry->slot = dict->values
                      ? dict->values + i * sizeof(uint64_t)
                      : dict->entries + ((uint64_t)i * dict->stride + dict->stride - 1) * 8;
    return 0;
}

int mt_py_dict_find(const struct mt_python_layout *layout, struct mt_py_dict *dict,
                    const char *name, struct mt_py_entry *entry)
{
    char text[64];
    for (unsigned i = 0; i < dict->n && !mt_py_dict_at(dict, i, entry); i++)
        if (entry->value && !mt_py_text(layout, entry->key, text, sizeof text) &&
            !strcmp(text, name))
            return 0;
    return -ENOENT;
}

int mt_py_dict_find_known(const struct mt_python_layout *layout, struct mt_py_dict *dict,
                          const char *name, uint64_t *key, struct mt_py_entry *entry)
{
    for (unsigned i = 0; *key && i < dict->n && !mt_py_dict_at(dict, i, entry); i++)
        if (entry->key == *key && entry->value)
            return 0;
    if (mt_py_dict_find(layout, dict, name, entry))
        return -ENOENT;
    *key = entry->key;
    return 0;
}

uint64_t mt_py_dict_version(uint64_t dict, bool is_alive)
{
    uint64_t version;
    return read_as(is_alive, dict + MT_DICT_VERSION, &version, sizeof version) ? 0 : version;
}

static int prove(struct mt_py_proof *proof, bool is_alive, uint64_t address)
{
    uint64_t *value = &proof->word[proof->n].value;
    proof->word[proof->n++].address = address;
    return read_as(is_alive, address, value, sizeof *value);
}

/* Open attributes that are only in values: a table of the type has their names. */
static int open_values(const struct mt_python_layout *layout, uint64_t type, uint64_t values,
                       bool is_alive, struct mt_py_dict *attributes)
{
    uint64_t keys, head[5];
    memset(attributes, 0, offsetof(struct mt_py_dict, entry));
    attributes->is_alive = is_alive;
    if (!values || read_as(is_alive, type + (uint64_t)layout->type_keys, &keys, sizeof keys) ||
        !keys || read_as(is_alive, keys, head, sizeof head))
        return -EINVAL;
    open_keys_311(attributes, keys, head);
    attributes->values = values;
    return 0;
}

/* Return where an object of the type has its attribute dict; 0 if it has none. Up to 3.10 the type
 * says so, later only for C types (types.SimpleNamespace). */
static uint64_t dict_offset(uint64_t type, bool is_alive)
{
    uint64_t at;
    return read_as(is_alive, type + TYPE_DICT_OFFSET, &at, sizeof at) || at > 4096 ? 0 : at;
}

/* Find the attributes. From 3.11 on the dict pointer precedes the object. Values are, in 3.11, next
 * to the dict; in 3.12 in its place, with a mark; in 3.13 after the object. */
static int find_attributes(const struct mt_python_layout *layout, uint64_t object, uint64_t type,
                           bool is_alive, uint64_t *dict, uint64_t *values,
                           struct mt_py_proof *proof)
{
    uint64_t at, flags = 0, size;
    if (layout->attributes != MT_ATTRIBUTES_310 &&
        read_as(is_alive, type + TYPE_FLAGS, &flags, sizeof flags))
        return -EINVAL;
    bool is_managed = flags & FLAG_MANAGED_DICT;
    at = is_managed ? (uint64_t)MANAGED_DICT : dict_offset(type, is_alive);
    if (!at || prove(proof, is_alive, object + at))
        return -EINVAL;
    *dict = proof->word[0].value;
    *values = 0;
    if (!is_managed)
        return *dict ? 0 : -EINVAL;
    if (layout->attributes == MT_ATTRIBUTES_312 && *dict & 1) {
        *values = *dict + 1;
        *dict = 0;
    } else if (layout->attributes == MT_ATTRIBUTES_311 && !*dict) {
        if (prove(proof, is_alive, object + (uint64_t)MANAGED_VALUES))
            return -EINVAL;
        *values = proof->word[1].value;
    } else if (layout->attributes >= MT_ATTRIBUTES_313 && !*dict) {
        if (!(flags & FLAG_INLINE_VALUES) ||
            read_as(is_alive, type + TYPE_BASIC_SIZE, &size, sizeof size))
            return -EINVAL;
        *values = object + size + 8;
    }
    return 0;
}

static int open_attributes(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                           struct mt_py_dict *attributes, struct mt_py_proof *proof)
{
    uint64_t type, dict, values;
    proof->n = 0;
    proof->word[1].value = 0;
    if (!object || object % 8 || read_as(is_alive, object + MT_OBJECT_TYPE, &type, sizeof type) ||
        find_attributes(layout, object, type, is_alive, &dict, &values, proof))
        return -EINVAL;
    if (!dict)
        return open_values(layout, type, values, is_alive, attributes);
    return open_dict(layout, dict, is_alive, attributes) ||
                   prove(proof, is_alive, dict + (attributes->values ? DICT_VALUES : MT_DICT_KEYS))
               ? -EINVAL
               : 0;
}

int mt_py_attributes(const struct mt_python_layout *layout, uint64_t object,
                     struct mt_py_dict *attributes, struct mt_py_proof *proof)
{
    return open_attributes(layout, object, 0, attributes, proof);
}

int mt_py_attributes_alive(const struct mt_python_layout *layout, uint64_t object,
                           struct mt_py_dict *attributes, struct mt_py_proof *proof)
{
    return open_attributes(layout, object, 1, attributes, proof);
}

int mt_py_text(const struct mt_python_layout *layout, uint64_t str, char *out, size_t size)
{
    uint64_t object[128];
    if (!mt_py_is(str, mt_py_types.str) || read_bytes(str, object, MT_STRING_STATE + 8))
        return -EINVAL;
    uint64_t copy = (uint64_t)(uintptr_t)object;
    size_t most = sizeof object - (size_t)layout->string_data_wide;
    size_t length = (size_t)mt_py_word(copy, MT_STRING_LENGTH);
    uint32_t state = (uint32_t)mt_py_int(copy, MT_STRING_STATE);
    unsigned kind = (state >> 2) & 7, is_ascii = (state >> 6) & 1;
    if (!kind || length > most / kind ||
        read_bytes(str, object,
                   (size_t)(is_ascii ? layout->string_data : layout->string_data_wide) +
                       length * kind))
        return -EINVAL;
    size_t used = mt_py_utf8(layout, copy, out, size - 1);
    out[used] = '\0';
    return 0;
}

static int name_of_type(uint64_t type, bool is_alive, char *out, size_t size)
{
    uint64_t name;
    char text[256 + 16];
    if (read_as(is_alive, type + TYPE_NAME, &name, sizeof name))
        return -EINVAL;
    size_t whole = 0; /* eight aligned bytes at a time, so that no read crosses a page */
    size_t step = 8 - name % 8;
    for (; whole < 256; whole += step, step = 8) {
        if (read_as(is_alive, name + whole, text + whole, step))
            return -EINVAL;
        if (memchr(text + whole, 0, step))
            break;
    }
    text[whole + 8] = '\0';
    const char *dot = strrchr(text, '.');
    const char *last = dot ? dot + 1 : text;
    size_t length = strnlen(last, size - 1);
    memcpy(out, last, length);
    out[length] = '\0';
    return 0;
}

int mt_py_type_name(uint64_t object, char *out, size_t size)
{
    uint64_t type;
    return mt_py_read(object + MT_OBJECT_TYPE, &type) ? -EINVAL : name_of_type(type, 0, out, size);
}

int mt_py_type_name_alive(uint64_t object, char *out, size_t size)
{
    return name_of_type(mt_py_word(object, MT_OBJECT_TYPE), 1, out, size);
}

static bool is_class(const struct mt_python_layout *layout, uint64_t type,
                     const struct mt_py_class *class)
{
    char text[128];
    uint64_t dict;
    struct mt_py_dict attributes;
    struct mt_py_entry module;
    return !name_of_type(type, 0, text, sizeof text) && !strcmp(text, class->name) &&
           !mt_py_read(type + TYPE_DICT, &dict) && !mt_py_dict_open(layout, dict, &attributes) &&
           !mt_py_dict_find(layout, &attributes, "__module__", &module) &&
           !mt_py_text(layout, module.value, text, sizeof text) && !strcmp(text, class->module);
}

bool mt_py_derives(const struct mt_python_layout *layout, uint64_t object,
                   const struct mt_py_class *class, size_t n)
{
    uint64_t type, order, base, n_bases;
    if (!object || mt_py_read(object + MT_OBJECT_TYPE, &type) ||
        mt_py_read(type + TYPE_MRO, &order) || mt_py_sort(order) != MT_PY_TUPLE)
        return false;
    uint64_t bases = mt_py_items(order, &n_bases);
    for (uint64_t i = 0; i < n_bases && i < MOST_BASES; i++)
        for (size_t j = 0; j < n; j++)
            if (!mt_py_read(bases + 8 * i, &base) && is_class(layout, base, &class[j]))
                return true;
    return false;
}

enum mt_py_sort mt_py_sort(uint64_t object)
{
    uint64_t type, flags;
    if (!object || mt_py_read(object + MT_OBJECT_TYPE, &type) ||
        mt_py_read(type + TYPE_FLAGS, &flags))
        return MT_PY_OTHER;
    return flags & FLAG_DICT    ? MT_PY_DICT
           : flags & FLAG_LIST  ? MT_PY_LIST
           : flags & FLAG_TUPLE ? MT_PY_TUPLE
                                : MT_PY_OTHER;
}

/* Return a tuple's items, which follow its fixed-size part, which is larger since 3.14. */
uint64_t mt_py_items(uint64_t object, uint64_t *n)
{
    uint64_t tuple = (uint64_t)(uintptr_t)mt_py_types.tuple;
    uint64_t items = 0;
    bool is_list = mt_py_sort(object) == MT_PY_LIST;
    if (mt_py_read(object + ITEMS_SIZE, n) ||
        mt_py_read(is_list ? object + LIST_ITEMS : tuple + TYPE_BASIC_SIZE, &items))
        *n = 0;
    return is_list ? items : object + items;
}

/* Read an int of at most two digits of 30 bits. Return 0 or -EINVAL. */
static int read_int(const struct mt_python_layout *layout, uint64_t object, uint64_t *out)
{
    enum { SIZE = 16, DIGITS = 24 };
    uint64_t word[2], type;
    char name[16];
    if (!object || mt_py_read(object + MT_OBJECT_TYPE, &type) ||
        name_of_type(type, 0, name, sizeof name) || strcmp(name, "int") ||
        mt_py_read(object + SIZE, &word[0]) || mt_py_read(object + DIGITS, &word[1]))
        return -EINVAL;
    /* From 3.12 on the lowest two bits are the sign (0: positive, 1: zero), and the number is
     * above. */
    uint64_t n = layout->minor < 12 ? word[0] : word[0] & 3 ? 0 : word[0] >> 3;
    if (n < 1 || n > 2)
        return -EINVAL;
    *out = (uint32_t)word[1] | (n == 2 ? (word[1] >> 32) << 30 : 0);
    return 0;
}

int mt_py_product(const struct mt_python_layout *layout, uint64_t object, uint64_t *out)
{
    uint64_t n, item, factor;
    if (mt_py_sort(object) != MT_PY_TUPLE)
        return read_int(layout, object, out);
    uint64_t items = mt_py_items(object, &n);
    *out = 1;
    for (uint64_t i = 0; i < n; i++)
        if (i == 64 || mt_py_read(items + i * sizeof item, &item) ||
            read_int(layout, item, &factor) || __builtin_mul_overflow(*out, factor, out) ||
            *out >> 60)
            return -EINVAL;
    return 0;
}

/* Return whether this is a tensor type: all derive from one type of PyTorch's C++ part. */
static bool is_tensor_type(uint64_t type)
{
    static _Atomic uint64_t known[64];
    _Atomic uint64_t *place = &known[(type >> 4 ^ type >> 12) % 64];
    uint64_t base = type;
    char name[64];
    if (*place == type)
        return true;
    for (unsigned i = 0; base && i < 16; i++) {
        if (name_of_type(base, 0, name, sizeof name))
            return false;
        if (!strcmp(name, "TensorBase") || !strcmp(name, "_TensorBase")) {
            *place = type;
            return true;
        }
        if (mt_py_read(base + TYPE_BASE, &base))
            return false;
    }
    return false;
}

/* Find the TensorImpl. Some releases of PyTorch have a word before it that says whether it is
 * borrowed. */
uint64_t mt_py_impl(uint64_t object)
{
    enum { LEAST_ADDRESS = 4096 };
    uint64_t word[2], type;
    if (!object || mt_py_read(object + MT_OBJECT_TYPE, &type) || !is_tensor_type(type) ||
        read_bytes(object + TENSOR, word, sizeof word))
        return 0;
    return word[0] < LEAST_ADDRESS ? word[1] : word[0];
}

struct mt_py_tensor mt_py_tensor(uint64_t object)
{
    struct mt_py_tensor tensor = {.impl = (const void *)(uintptr_t)mt_py_impl(object)};
    if (tensor.impl)
        tensor.place = mt_impl_place_carefully(tensor.impl, &tensor.elements);
    return tensor;
}

/* Return whether the class is one of PyTorch's own two, which wrap nothing. */
static bool is_plain(uint64_t object)
{
    char class[16];
    return mt_py_type_name(object, class, sizeof class) || !strcmp(class, "Tensor") ||
           !strcmp(class, "Parameter");
}

static bool add_part(struct mt_py_tensor *part, uint64_t object)
{
    *part = mt_py_tensor(object);
    part->is_wrapped = true;
    if (part->place.address)
        part->dtype = mt_impl_dtype_carefully(part->impl);
    return part->place.address != 0;
}

/* Find the parts. __slots__ follow the C++ part of the object, other attributes are in its dict. */
unsigned mt_py_tensor_parts(const struct mt_python_layout *layout, uint64_t object,
                            struct mt_py_tensor *part, unsigned most)
{
    enum { MOST_SIZE = 512 };
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof proof;
    uint64_t type, size, word;
    unsigned n = 0;
    if (!object || mt_py_read(object + MT_OBJECT_TYPE, &type) || !is_tensor_type(type))
        return 0;
    part[0] = mt_py_tensor(object);
    if (part[0].place.address || is_plain(object) || mt_py_read(type + TYPE_BASIC_SIZE, &size))
        return part[0].place.address != 0;
    for (uint64_t at = TENSOR; n < most && at + sizeof word <= size && at < MOST_SIZE;
         at += sizeof word) {
        if (!mt_py_read(object + at, &word) && add_part(&part[n], word))
            n++;
    }
    if (mt_py_attributes(layout, object, &attributes, &proof))
        return n;
    for (unsigned i = 0; n < most && i < attributes.n && !mt_py_dict_at(&attributes, i, &entry);
         i++) {
        if (entry.value && add_part(&part[n], entry.value))
            n++;
    }
    return n;
}
