/* SPDX-License-Identifier: Apache-2.0 */
#include "kept-attributes.h"
#include "preload/python/python-objects.h"

#include <string.h>

#define MOST_ATTRIBUTES 512u
#define MOST_ITEMS 4096u /* of a list */
#define MOST_DEPTH 3u    /* lists in lists */
#define PARTS 8u         /* of a tensor */

enum sort { GRADIENT, PARAMETER };

static const struct {
    const char *name;
    enum mt_keeper keeper;
    enum sort sort;
    const char *whole; /* attribute with the element count over all processes; NULL: none */
} names[] = {
    /* Megatron's and others' buffer for all, of which each parameter has a view */
    {"main_grad", MT_KEEPER_PARAMETER, GRADIENT, NULL},
    /* DeepSpeed: the rank's part of the parameter */
    {"ds_tensor", MT_KEEPER_PARAMETER, PARAMETER, "ds_numel"},
    /* FSDP1: the same of a flat one */
    {"_local_shard", MT_KEEPER_PARAMETER, PARAMETER, "_unpadded_unsharded_size"},
    /* ... and of all gradients, in ZeRO-3, and in ZeRO-1 and 2 */
    {"grad_partitions_flat_buffer", MT_KEEPER_OPTIMIZER, GRADIENT, NULL},
    {"averaged_gradients", MT_KEEPER_OPTIMIZER, GRADIENT, NULL},
};

struct look {
    struct mt_thread *self;
    const struct mt_python_layout *layout;
    enum sort sort;
    unsigned left;             /* objects that it may still look at */
    uint64_t parameter, whole; /* of the parts; whole 0: not known */
};

static void record(const struct look *look, uint64_t object)
{
    struct mt_py_tensor part[PARTS];
    unsigned n = mt_py_tensor_parts(look->layout, object, part, PARTS);
    for (unsigned i = 0; i < n; i++) {
        uint64_t address = part[i].place.address;
        if (look->sort == GRADIENT)
            mt_record(look->self, MT_GRADIENT, part[i].place.device, 0, MT_ARGS(address));
        else
            mt_record(look->self, MT_MEMBER, part[i].place.device, 0, MT_ARGS(address, 1));
        if (look->sort == PARAMETER && look->whole)
            mt_record(look->self, MT_PART, part[i].place.device, 0,
                      MT_ARGS(address, look->parameter + i, i ? 0 : look->whole,
                              mt_impl_dtype_carefully(part[i].impl)));
    }
}

static void look_into(struct look *look, uint64_t object, unsigned depth);

static void look_into_dict(struct look *look, uint64_t object, unsigned depth)
{
    struct mt_py_dict dict;
    struct mt_py_entry entry;
    if (mt_py_dict_open(look->layout, object, &dict))
        return;
    for (unsigned i = 0; i < dict.n && look->left && !mt_py_dict_at(&dict, i, &entry); i++)
        if (entry.value)
            look_into(look, entry.value, depth + 1);
}

static void look_into(struct look *look, uint64_t object, unsigned depth)
{
    enum mt_py_sort sort = mt_py_sort(object);
    uint64_t item, n;
    if (depth > MOST_DEPTH || !look->left)
        return;
    look->left--;
    if (sort == MT_PY_DICT) {
        look_into_dict(look, object, depth);
    } else if (sort == MT_PY_LIST || sort == MT_PY_TUPLE) {
        uint64_t items = mt_py_items(object, &n);
        for (uint64_t i = 0; i < n && look->left; i++)
            if (!mt_py_read(items + i * sizeof item, &item))
                look_into(look, item, depth + 1);
    } else {
        record(look, object);
    }
}

static uint64_t whole_of(const struct mt_python_layout *layout, uint64_t object, const char *name)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof unused;
    uint64_t whole;
    if (!name || mt_py_attributes(layout, object, &attributes, &unused) ||
        mt_py_dict_find(layout, &attributes, name, &entry) ||
        mt_py_product(layout, entry.value, &whole))
        return 0;
    return whole;
}

void mt_kept_attributes_look(struct mt_thread *self, const struct mt_python_layout *layout,
                             uint64_t object, enum mt_keeper keeper)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof unused;
    char text[64];
    if (!object || mt_py_attributes(layout, object, &attributes, &unused))
        return;
    for (unsigned i = 0; i < attributes.n && i < MOST_ATTRIBUTES; i++) {
        if (mt_py_dict_at(&attributes, i, &entry))
            return;
        if (!entry.value || mt_py_text(layout, entry.key, text, sizeof text))
            continue;
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            struct look look = {self, layout, names[j].sort, MOST_ITEMS, object, 0};
            if (names[j].keeper != keeper || strcmp(names[j].name, text))
                continue;
            look.whole = whole_of(layout, object, names[j].whole);
            look_into(&look, entry.value, 0);
        }
    }
}
