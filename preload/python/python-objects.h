/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's objects, read from memory by reads that cannot crash at any address. CPython is never
 * called and no reference is acquired. Slow: for what is looked up once.
 */
#ifndef MT_PRELOAD_PYTHON_OBJECTS_H
#define MT_PRELOAD_PYTHON_OBJECTS_H

#include "python-code.h"
#include "python-versions.h"
#include "tensor.h"

#include <stdbool.h>
#include <stddef.h>

/* Byte offsets. */
enum {
    MT_DICT_USED = 16,
    MT_DICT_VERSION = 24, /* up to 3.13 */
    MT_DICT_KEYS = 32,
    MT_KEYS_SHAPE = 8, /* sizes and kind of its table, from 3.11 on */
    MT_CELL_VALUE = 16,
};

/* The types that objects are checked against. */
struct mt_py_types {
    const void *str, *dict, *ordered_dict, *tuple, *cell;
};

extern struct mt_py_types mt_py_types;

/* A dict being iterated over, with the entries read last. */
#define MT_PY_CHUNK 32u

struct mt_py_dict {
    uint64_t entries, values; /* addresses; values 0: the values are in the entries */
    unsigned stride, n;       /* words per entry; entries, with empty ones */
    unsigned first, filled;   /* the chunk */
    bool is_alive;            /* then read it directly */
    uint64_t entry[MT_PY_CHUNK * 3], value[MT_PY_CHUNK];
};

/* Begin to iterate over a dict or OrderedDict. Return 0, or -EINVAL if it is neither. */
int mt_py_dict_open(const struct mt_python_layout *layout, uint64_t object,
                    struct mt_py_dict *dict);

/* Open a dict that a live object keeps alive (mt_py_attributes_alive). */
int mt_py_dict_open_alive(const struct mt_python_layout *layout, uint64_t object,
                          struct mt_py_dict *dict);

struct mt_py_entry {
    uint64_t key, value; /* objects; value 0: there is no entry here */
    uint64_t slot;       /* address of the value */
};

/* Read entry i. Return 0 or -EFAULT. */
int mt_py_dict_at(struct mt_py_dict *dict, unsigned i, struct mt_py_entry *entry);

/* Find the entry with this ASCII name as its key. Return 0 or -ENOENT. */
int mt_py_dict_find(const struct mt_python_layout *layout, struct mt_py_dict *dict,
                    const char *name, struct mt_py_entry *entry);

/* Find a value, faster if the name is the last str seen, as most often: *key is that str, 0 at
 * first. */
int mt_py_dict_find_known(const struct mt_python_layout *layout, struct mt_py_dict *dict,
                          const char *name, uint64_t *key, struct mt_py_entry *entry);

/* Up to 3.13: return a number that no other dict has had, nor this one before its last change. 0 if
 * unknown. */
uint64_t mt_py_dict_version(uint64_t dict, bool is_alive);

/* Words of memory that together prove an object to be the same. Each is read only if the words
 * before it are unchanged, and is in something that they keep alive. */
#define MT_PY_PROOF 24u
struct mt_py_proof {
    unsigned n;
    struct {
        uint64_t address, value;
    } word[MT_PY_PROOF];
};

static inline void mt_py_prove(struct mt_py_proof *proof, uint64_t address, uint64_t value)
{
    proof->word[proof->n].address = address;
    proof->word[proof->n++].value = value;
}

/* Open an object's attributes like a dict, and begin the proof. Return 0 or -EINVAL. */
int mt_py_attributes(const struct mt_python_layout *layout, uint64_t object,
                     struct mt_py_dict *attributes, struct mt_py_proof *proof);

/* Find the attributes of an object that is alive, as a function's argument is, in a Python whose
 * layout has been checked: read without system calls. */
int mt_py_attributes_alive(const struct mt_python_layout *layout, uint64_t object,
                           struct mt_py_dict *attributes, struct mt_py_proof *proof);

/* Write a str as UTF-8, terminated and truncated to size. Return 0 or -EINVAL. */
int mt_py_text(const struct mt_python_layout *layout, uint64_t str, char *out, size_t size);

/* Copy the name of an object's type, without its package. */
int mt_py_type_name(uint64_t object, char *out, size_t size);

/* Copy the name of the type of an object that is alive (mt_py_attributes_alive). */
int mt_py_type_name_alive(uint64_t object, char *out, size_t size);

/* A class, by the module that defines it and its name there. */
struct mt_py_class {
    const char *module, *name;
};

/* Return whether an object is of one of the classes, or of a class that derives from one. */
bool mt_py_derives(const struct mt_python_layout *layout, uint64_t object,
                   const struct mt_py_class *class, size_t n);

/* Return an object's kind, by its type or a type that it derives from. */
enum mt_py_sort { MT_PY_OTHER, MT_PY_DICT, MT_PY_LIST, MT_PY_TUPLE };
enum mt_py_sort mt_py_sort(uint64_t object);

/* Return the address of a list's or tuple's items, and their number. */
uint64_t mt_py_items(uint64_t object, uint64_t *n);

/* A torch.Tensor: its data on a device, if any. */
struct mt_py_tensor {
    struct mt_tensor_data place;
    uint64_t elements; /* 0: unknown */
    bool is_wrapped;   /* by a tensor without data of its own */
    unsigned dtype;    /* 0: unknown */
    const void *impl;  /* its TensorImpl; NULL: not a tensor */
};
struct mt_py_tensor mt_py_tensor(uint64_t object);

/* Return the address of a tensor's TensorImpl, or 0 if it is not a tensor. */
uint64_t mt_py_impl(uint64_t object);

/* Get an int, or the product of a tuple of ints, such as a shape. Return 0, or -EINVAL if it is
 * neither, negative or above 2^60. */
int mt_py_product(const struct mt_python_layout *layout, uint64_t object, uint64_t *out);

/* List a tensor's parts with data on a device: itself, or if its class wraps others (DTensor,
 * quantized ones), the tensors among its attributes. Return their number, at most `most`. */
unsigned mt_py_tensor_parts(const struct mt_python_layout *layout, uint64_t object,
                            struct mt_py_tensor *part, unsigned most);

/* Return the object of a frame's local variable, 0 if there is none or it is not an object. From
 * 3.14 on, the lowest bit means that the frame holds no reference, the next bit that it is not an
 * object. */
static inline uint64_t mt_py_reference(uint64_t word)
{
    return word & 2 ? 0 : word & ~(uint64_t)1;
}

/* Return whether a frame has a first argument. */
static inline bool mt_py_has_argument(const struct mt_python_layout *layout, uint64_t frame)
{
    return layout->frame_locals >= 0 &&
           mt_py_int(mt_py_frame_code(layout, frame), layout->code_arguments) > 0;
}

/* Return the first argument of a frame that has one, even if inner functions use it, too. */
static inline uint64_t mt_py_argument(const struct mt_python_layout *layout, uint64_t frame)
{
    uint64_t object = mt_py_reference(mt_py_word(frame, layout->frame_locals));
    if (object && mt_py_word(object, MT_OBJECT_TYPE) == (uint64_t)(uintptr_t)mt_py_types.cell)
        object = mt_py_word(object, MT_CELL_VALUE);
    return object;
}

/* Read a word of memory. Return 0 or -EFAULT. */
int mt_py_read(uint64_t address, uint64_t *out);

static inline bool mt_py_is(uint64_t object, const void *type)
{
    uint64_t found;
    return type && object && !mt_py_read(object + MT_OBJECT_TYPE, &found) &&
           found == (uint64_t)(uintptr_t)type;
}

#endif
