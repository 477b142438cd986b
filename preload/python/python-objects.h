/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's objects as their memory shows them, by reads that cannot crash, whatever the addresses
 * are: nothing is called in CPython, no reference is taken. Slow: for what is looked up once.
 */
#ifndef MT_PRELOAD_PYTHON_OBJECTS_H
#define MT_PRELOAD_PYTHON_OBJECTS_H

#include "python-versions.h"
#include "tensor.h"

#include <stdbool.h>
#include <stddef.h>

/* Byte offsets. */
enum {
    MT_DICT_USED = 16,
    MT_DICT_VERSION = 24, /* up to 3.13 */
    MT_DICT_KEYS = 32,
    MT_KEYS_SHAPE = 8, /* sizes and sort of its table, from 3.11 on */
    MT_CELL_VALUE = 16,
};

/* The types that objects are checked against. */
struct mt_py_types {
    const void *str, *dict, *ordered_dict, *tuple, *cell;
};

extern struct mt_py_types mt_py_types;

/* A dict that is being gone through, with the entries that were read last. */
#define MT_PY_CHUNK 32u

struct mt_py_dict {
    uint64_t entries, values; /* addresses; values 0: they are in the entries */
    unsigned stride, n;       /* words an entry; entries, empty ones included */
    unsigned first, filled;   /* the chunk */
    bool is_alive;            /* and is read without care */
    uint64_t entry[MT_PY_CHUNK * 3], value[MT_PY_CHUNK];
};

/* Begins to go through a dict, or OrderedDict. 0, or -EINVAL: it is none. */
int mt_py_dict_open(const struct mt_python_layout *layout, uint64_t object,
                    struct mt_py_dict *dict);

struct mt_py_entry {
    uint64_t key, value; /* objects; value 0: there is no entry here */
    uint64_t slot;       /* where the value stands */
};

/* Entry i: 0, or -EFAULT. */
int mt_py_dict_at(struct mt_py_dict *dict, unsigned i, struct mt_py_entry *entry);

/* The entry with that name as its key, which is ASCII: 0, or -ENOENT. */
int mt_py_dict_find(const struct mt_python_layout *layout, struct mt_py_dict *dict,
                    const char *name, struct mt_py_entry *entry);

/* Likewise. Most often its name is one str for all objects: *key is the one that was met last, 0 at
 * first. */
int mt_py_dict_find_known(const struct mt_python_layout *layout, struct mt_py_dict *dict,
                          const char *name, uint64_t *key, struct mt_py_entry *entry);

/* Up to 3.13: a number that no other dict has had, nor this one before its last change. 0: not
 * known. */
uint64_t mt_py_dict_version(uint64_t dict, bool is_alive);

/* Words of memory that together show that an object is still the same one: each is read only where
 * those before it are as they were, and lies in something that they keep alive. */
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

/* An object's attributes, as a dict is gone through, and the proof's first words. 0, or -EINVAL. */
int mt_py_attributes(const struct mt_python_layout *layout, uint64_t object,
                     struct mt_py_dict *attributes, struct mt_py_proof *proof);

/* Likewise of an object that lives now, as a function's argument does, in a Python whose layout has
 * been found right: what it leads to is read as a proof's words are, without a system call. */
int mt_py_attributes_alive(const struct mt_python_layout *layout, uint64_t object,
                           struct mt_py_dict *attributes, struct mt_py_proof *proof);

/* A str as UTF-8, terminated; what does not fit is cut. 0, or -EINVAL. */
int mt_py_text(const struct mt_python_layout *layout, uint64_t str, char *out, size_t size);

/* Likewise the name of an object's type, without the package it is in. */
int mt_py_type_name(uint64_t object, char *out, size_t size);

/* Likewise of an object that lives (mt_py_attributes_alive). */
int mt_py_type_name_alive(uint64_t object, char *out, size_t size);

/* What sort of object it is, by its type or one that this is derived from. */
enum mt_py_sort { MT_PY_OTHER, MT_PY_DICT, MT_PY_LIST, MT_PY_TUPLE };
enum mt_py_sort mt_py_sort(uint64_t object);

/* Where a list or tuple has its items, and how many. */
uint64_t mt_py_items(uint64_t object, uint64_t *n);

/* Of a torch.Tensor: where its data is, which is nowhere if it is none on a device. */
struct mt_py_tensor {
    struct mt_tensor_data place;
    uint64_t elements; /* 0: not known */
    bool is_wrapped;   /* by another one that has no data itself */
    unsigned dtype;    /* 0: not known */
    const void *impl;  /* its TensorImpl; NULL: it is no tensor */
};
struct mt_py_tensor mt_py_tensor(uint64_t object);

/* An int, or the product of a tuple of ints, as a shape is: 0, or -EINVAL where it is none, negative
 * or above 2^60. */
int mt_py_product(const struct mt_python_layout *layout, uint64_t object, uint64_t *out);

/* The tensors with data on a device that it consists of: itself, or where its class wraps others
 * (DTensor, quantized ones) those among its attributes. How many there are, `most` at most. */
unsigned mt_py_tensor_parts(const struct mt_python_layout *layout, uint64_t object,
                            struct mt_py_tensor *part, unsigned most);

/* The object that a frame's local variable is: from 3.14 on its lowest bit says that the frame
 * holds no reference. 0: none, or what is no object (then the bit above is set). */
static inline uint64_t mt_py_reference(uint64_t word)
{
    return word & 2 ? 0 : word & ~(uint64_t)1;
}

/* A word of memory: 0, or -EFAULT. */
int mt_py_read(uint64_t address, uint64_t *out);

static inline bool mt_py_is(uint64_t object, const void *type)
{
    uint64_t found;
    return type && object && !mt_py_read(object + MT_OBJECT_TYPE, &found) &&
           found == (uint64_t)(uintptr_t)type;
}

#endif
