/* SPDX-License-Identifier: Apache-2.0 */
#include "module-proof.h"
#include "preload/python/deaths.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The last str seen with each name: most often all modules share it. */
static struct {
    const char *name;
    uint64_t key;
} attribute[MT_MODULE_ATTRIBUTES] = {{"_modules", 0}, {"_forward_hooks", 0}};

int mt_module_attribute(const struct mt_python_layout *layout, struct mt_py_dict *attributes,
                        enum mt_module_attribute which, struct mt_py_entry *entry)
{
    return mt_py_dict_find_known(layout, attributes, attribute[which].name, &attribute[which].key,
                                 entry);
}

static bool has_versions(const struct mt_python_layout *layout)
{
    return layout->attributes < MT_ATTRIBUTES_314;
}

void mt_module_proof_start(const struct mt_python_layout *layout)
{
    if (!has_versions(layout))
        mt_dict_deaths_start(mt_py_types.ordered_dict);
}

/* Find the dict of children and the proof that it is the module's. */
static int find_children(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                         uint64_t *dict, struct mt_py_proof *proof)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    if ((is_alive ? mt_py_attributes_alive : mt_py_attributes)(layout, object, &attributes,
                                                               proof) ||
        mt_module_attribute(layout, &attributes, MT_MODULE_CHILDREN, &entry))
        return -ENOENT;
    mt_py_prove(proof, entry.slot, entry.value);
    *dict = entry.value;
    return 0;
}

int mt_module_children(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                       struct mt_py_dict *children, uint64_t *dict, struct mt_py_proof *proof)
{
    return find_children(layout, object, is_alive, dict, proof) ||
                   (is_alive ? mt_py_dict_open_alive : mt_py_dict_open)(layout, *dict, children)
               ? -ENOENT
               : 0;
}

/* Prove by the version of the dict of children, which is created and freed with the object: its
 * version identifies the object. */
static int prove_by_version(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                            struct mt_py_proof *proof)
{
    uint64_t dict, version;
    if (find_children(layout, object, is_alive, &dict, proof) ||
        !(version = mt_py_dict_version(dict, is_alive)))
        return -ENOENT;
    mt_py_prove(proof, dict + MT_DICT_VERSION, version);
    return 0;
}

/* Prove that the module still has its hooks' OrderedDict, which was not freed since. */
static int prove_by_deaths(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                           struct mt_py_proof *proof)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    if ((is_alive ? mt_py_attributes_alive : mt_py_attributes)(layout, object, &attributes,
                                                               proof) ||
        mt_module_attribute(layout, &attributes, MT_MODULE_HOOKS, &entry) ||
        !mt_py_is(entry.value, mt_py_types.ordered_dict))
        return -ENOENT;
    const _Atomic uint64_t *deaths = mt_dict_deaths_watch(entry.value);
    if (!deaths)
        return -ENOENT;
    mt_py_prove(proof, entry.slot, entry.value);
    mt_py_prove(proof, (uint64_t)(uintptr_t)deaths,
                atomic_load_explicit(deaths, memory_order_relaxed));
    return 0;
}

static int prove(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                 struct mt_py_proof *proof)
{
    return has_versions(layout) ? prove_by_version(layout, object, is_alive, proof)
                                : prove_by_deaths(layout, object, is_alive, proof);
}

/* Return whether all versions differ. */
bool mt_module_is_provable(const struct mt_python_layout *layout, uint64_t object,
                           const uint64_t dict[3])
{
    struct mt_py_proof proof;
    if (!has_versions(layout))
        return !prove(layout, object, 0, &proof);
    uint64_t version[3];
    for (unsigned i = 0; i < 3; i++)
        version[i] = mt_py_dict_version(dict[i], 0);
    return version[0] && version[1] && version[2] && version[0] != version[1] &&
           version[0] != version[2] && version[1] != version[2];
}

int mt_module_prove(const struct mt_python_layout *layout, uint64_t object,
                    struct mt_py_proof *proof)
{
    return prove(layout, object, 1, proof);
}

/* Prove that the same table has as many children, without versions. */
int mt_module_prove_children(const struct mt_python_layout *layout, uint64_t object,
                             struct mt_py_proof *proof)
{
    uint64_t dict, used, keys;
    if (has_versions(layout))
        return prove_by_version(layout, object, 1, proof);
    if (find_children(layout, object, 1, &dict, proof) || mt_py_read(dict + MT_DICT_USED, &used) ||
        mt_py_read(dict + MT_DICT_KEYS, &keys))
        return -ENOENT;
    mt_py_prove(proof, dict + MT_DICT_USED, used);
    mt_py_prove(proof, dict + MT_DICT_KEYS, keys);
    return 0;
}

static int find_child(struct mt_py_dict *children, uint64_t key, uint64_t child,
                      struct mt_py_entry *entry)
{
    for (unsigned i = 0; i < children->n && !mt_py_dict_at(children, i, entry); i++)
        if (entry->key == key && entry->value == child)
            return 0;
    return -ENOENT;
}

/* Prove the dict's table, and in it the entry's value and name. The name's hash is proven, too,
 * because another str may reuse its address. */
static int prove_by_entry(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                          uint64_t key, uint64_t child, struct mt_py_proof *proof)
{
    struct mt_py_dict children;
    struct mt_py_entry entry;
    uint64_t dict, keys, shape, hash;
    if (mt_module_children(layout, object, is_alive, &children, &dict, proof) || children.values ||
        find_child(&children, key, child, &entry) || mt_py_read(dict + MT_DICT_KEYS, &keys) ||
        mt_py_read(keys + MT_KEYS_SHAPE, &shape) || mt_py_read(key + MT_STRING_HASH, &hash))
        return -ENOENT;
    mt_py_prove(proof, dict + MT_DICT_KEYS, keys);
    mt_py_prove(proof, keys + MT_KEYS_SHAPE, shape);
    mt_py_prove(proof, entry.slot - sizeof key, key);
    mt_py_prove(proof, key + MT_STRING_HASH, hash);
    mt_py_prove(proof, entry.slot, child);
    return 0;
}

int mt_module_prove_child(const struct mt_python_layout *layout, uint64_t object, bool is_alive,
                          uint64_t key, uint64_t child, struct mt_py_proof *proof)
{
    return has_versions(layout) ? prove_by_version(layout, object, is_alive, proof)
                                : prove_by_entry(layout, object, is_alive, key, child, proof);
}
