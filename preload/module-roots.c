/* SPDX-License-Identifier: Apache-2.0 */
#include "module-roots.h"
#include "intern.h"
#include "python-objects.h"

#include <stdio.h>
#include <string.h>

#define ROOTS 256u

/* Modules that had a name; dead ones give theirs to the next. */
static struct root {
    uint64_t object, attributes; /* a word of the object that leads to its attributes */
    uint32_t class;              /* string id */
    unsigned number;             /* from 1 up */
} roots[ROOTS];

static uint64_t attributes_of(const struct mt_python_layout *layout, uint64_t object,
                              int *is_replica)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof proof;
    if (mt_py_attributes(layout, object, &attributes, &proof))
        return 0;
    *is_replica = !mt_py_dict_find(layout, &attributes, "_is_replica", &entry);
    return proof.word[0].value ? proof.word[0].value : proof.word[1].value;
}

/* What is freed has no references. */
static int is_alive(const struct mt_python_layout *layout, const struct root *root)
{
    uint64_t references;
    int is_replica;
    return root->object && !mt_py_read(root->object, &references) && (uint32_t)references &&
           attributes_of(layout, root->object, &is_replica) == root->attributes;
}

static int is_taken(const struct mt_python_layout *layout, uint32_t class, unsigned number)
{
    for (unsigned i = 0; i < ROOTS; i++)
        if (roots[i].class == class && roots[i].number == number && is_alive(layout, &roots[i]))
            return 1;
    return 0;
}

static struct root *place(const struct mt_python_layout *layout)
{
    for (unsigned i = 0; i < ROOTS; i++)
        if (!is_alive(layout, &roots[i]))
            return &roots[i];
    return NULL;
}

/* Replicas of a module on other devices are no others: DataParallel makes them for one call. */
static unsigned number_of(const struct mt_python_layout *layout, uint64_t object, uint32_t class)
{
    int is_replica = 0;
    uint64_t attributes = attributes_of(layout, object, &is_replica);
    for (unsigned i = 0; i < ROOTS; i++)
        if (roots[i].object == object && roots[i].class == class) {
            roots[i].attributes = attributes;
            return roots[i].number;
        }
    struct root *root = is_replica || !attributes ? NULL : place(layout);
    if (!root)
        return 1;
    *root = (struct root){0};
    unsigned number = 1;
    while (is_taken(layout, class, number))
        number++;
    *root = (struct root){object, attributes, class, number};
    return number;
}

uint32_t mt_module_root(const struct mt_python_layout *layout, uint64_t object)
{
    char name[256 + 16];
    if (mt_py_type_name(object, name, 256))
        return 0;
    size_t size = strlen(name);
    uint32_t class = mt_intern_string(name, size);
    unsigned number = class ? number_of(layout, object, class) : 1;
    if (number == 1)
        return class;
    snprintf(name + size, sizeof name - size, "#%u", number);
    return mt_intern_string(name, strlen(name));
}

void mt_module_roots_reset(void)
{
    memset(roots, 0, sizeof roots);
}
