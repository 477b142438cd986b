/* SPDX-License-Identifier: Apache-2.0 */
#include "module-search.h"
#include "module-proof.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Modules that stand for another one: the name under which they have it. NULL: any class. */
static const struct {
    const char *class, *child;
} wrappers[] = {
    {NULL, "_orig_mod"},
    {NULL, "_fsdp_wrapped_module"},
    {NULL, "_checkpoint_wrapped_module"},
    {"DistributedDataParallel", "module"},
    {"DataParallel", "module"},
    {"FullyShardedDataParallel", "module"},
};

/* Modules to be looked into, and where they were found. */
struct step {
    uint64_t object, key;
    unsigned parent;
};

static int is_wrapper(uint64_t holder, const char *child)
{
    char class[64];
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (!strcmp(child, wrappers[i].child) &&
            (!wrappers[i].class ||
             (!mt_py_type_name(holder, class, sizeof class) && !strcmp(class, wrappers[i].class))))
            return 1;
    return 0;
}

static int append(const struct mt_python_layout *layout, struct mt_module_path *path,
                  uint64_t holder, const struct step *step)
{
    char name[256];
    size_t used = strlen(path->text);
    if (mt_py_text(layout, step->key, name, sizeof name))
        return -ENOENT;
    if (is_wrapper(holder, name)) {
        path->root = used ? path->root : step->object;
        return 0;
    }
    int more = snprintf(path->text + used, sizeof path->text - used, used ? ".%s" : "%s", name);
    return more < 0 || (size_t)more >= sizeof path->text - used ? -ENOENT : 0;
}

/* Each module on the way still has the next one as it had it. */
static void prove_way(const struct mt_python_layout *layout, struct mt_py_proof *proof,
                      const struct step *steps, const unsigned *way, unsigned n)
{
    struct mt_py_proof one;
    proof->n = 0;
    while (n--) {
        const struct step *step = &steps[way[n]];
        if (mt_module_prove_child(layout, steps[step->parent].object, step->key, step->object,
                                  &one) ||
            proof->n + one.n > MT_PY_PROOF) {
            proof->n = 0;
            return;
        }
        memcpy(&proof->word[proof->n], one.word, one.n * sizeof *one.word);
        proof->n += one.n;
    }
}

static int spell(const struct mt_python_layout *layout, struct mt_module_path *path,
                 struct mt_py_proof *proof, const struct step *steps, unsigned last)
{
    unsigned way[MT_MODULE_MOST], n = 0;
    for (unsigned at = last; at; at = steps[at].parent)
        way[n++] = at;
    for (unsigned i = n; i--;)
        if (append(layout, path, steps[steps[way[i]].parent].object, &steps[way[i]]))
            return -ENOENT;
    prove_way(layout, proof, steps, way, n);
    return 0;
}

int mt_module_search(const struct mt_python_layout *layout, uint64_t owner, uint64_t object,
                     unsigned most, struct mt_module_path *path, struct mt_py_proof *proof)
{
    static struct step steps[MT_MODULE_MOST + 1];
    struct mt_py_dict children;
    struct mt_py_entry entry;
    struct mt_py_proof unused;
    uint64_t dict;
    unsigned n = 1;
    steps[0] = (struct step){owner, 0, 0};
    for (unsigned at = 0; at < n; at++) {
        if (mt_module_children(layout, steps[at].object, &children, &dict, &unused))
            continue;
        for (unsigned i = 0; i < children.n && !mt_py_dict_at(&children, i, &entry); i++) {
            unsigned place = entry.value == object ? n : n < most ? n++ : most;
            steps[place] = (struct step){entry.value, entry.key, at};
            if (entry.value == object)
                return spell(layout, path, proof, steps, place);
        }
    }
    return -ENOENT;
}

int mt_module_is_sound(const struct mt_python_layout *layout, uint64_t object)
{
    static const char *const made[] = {"_modules", "_parameters", "_buffers"};
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof proof;
    uint64_t dict[3];
    if (mt_py_attributes(layout, object, &attributes, &proof))
        return 0;
    for (unsigned i = 0; i < 3; i++) {
        struct mt_py_dict found;
        if (mt_py_dict_find(layout, &attributes, made[i], &entry) ||
            mt_py_dict_open(layout, entry.value, &found))
            return 0;
        dict[i] = entry.value;
    }
    return mt_module_is_provable(layout, object, dict);
}

int mt_module_is_scripted(const struct mt_python_layout *layout, uint64_t object)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof proof;
    char class[32];
    return !mt_py_attributes(layout, object, &attributes, &proof) &&
           !mt_module_attribute(layout, &attributes, MT_MODULE_CHILDREN, &entry) &&
           !mt_py_type_name(entry.value, class, sizeof class) &&
           !strcmp(class, "OrderedModuleDict");
}
