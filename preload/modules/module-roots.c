/* SPDX-License-Identifier: Apache-2.0 */
#include "module-roots.h"
#include "preload/host/index.h"
#include "preload/host/memory.h"
#include "preload/python/python-objects.h"
#include "preload/record/cache.h"
#include "preload/record/intern.h"
#include "preload/record/scan.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MOST_ROOTS 65536u
/* Roots of a class to check for a dead one when there is a new one; fewer if none was dead. */
#define PROBES 8u
#define FEW_PROBES 1u

/* A permanent name, by class and number, and the module that had it last: a dead module passes it
 * on to the next. The first root of a class also has the class's counts. */
struct root {
    uint64_t object, at, attributes; /* a word that leads to its attributes, and its address */
    uint32_t class;                  /* string id */
    uint32_t number;                 /* from 1 */
    uint32_t count;                  /* roots of the class; find ids by number */
    uint32_t given;                  /* the last number assigned */
    uint32_t probed;                 /* the last one checked */
    int none_was_dead;               /* at the last check */
};

static struct {
    struct root *root; /* by id, from 1 */
    uint32_t n;
    struct mt_index by_number, by_object;
    _Atomic uint32_t left_out;
} roots;

static uint64_t hash_of_number(uint32_t class, uint32_t number)
{
    return mt_mix(mt_mix(0, class), number);
}

/* Return an id, or 0. */
static uint32_t find_number(uint32_t class, uint32_t number)
{
    struct mt_search search = mt_index_search(&roots.by_number, hash_of_number(class, number));
    uint32_t id;
    while ((id = mt_index_next(&roots.by_number, &search)))
        if (roots.root[id].class == class && roots.root[id].number == number)
            return id;
    return 0;
}

static uint32_t find_object(uint64_t object, uint32_t class)
{
    struct mt_search search = mt_index_search(&roots.by_object, mt_mix(0, object));
    uint32_t id;
    while ((id = mt_index_next(&roots.by_object, &search)))
        if (roots.root[id].object == object && roots.root[id].class == class)
            return id;
    return 0;
}

/* Return whether an object is alive: a freed one has no references. */
static bool is_alive(const struct root *root)
{
    uint64_t references, attributes;
    return root->object && !mt_py_read(root->object, &references) && (uint32_t)references &&
           !mt_py_read(root->at, &attributes) && attributes == root->attributes;
}

/* Return the number of a dead root, or 0 if none of a few is: the lowest, the one after the last
 * assigned, and others in rotation. */
static uint32_t dead_number(uint32_t class)
{
    struct root *first = &roots.root[find_number(class, 1)];
    uint32_t count = first->count, start = count <= PROBES ? 0 : first->probed;
    uint32_t most = count <= PROBES ? count : first->none_was_dead ? FEW_PROBES : PROBES;
    uint32_t number[2 + PROBES] = {1, first->given % count + 1};
    uint64_t object[2 + PROBES];
    for (uint32_t i = 0; i < most; i++)
        number[2 + i] = (start + i) % count + 1;
    for (uint32_t i = 0; i < 2 + most; i++)
        object[i] = roots.root[find_number(class, number[i])].object;
    mt_scan_prefetch(object, 2 + most);
    first->none_was_dead = 0;
    for (uint32_t i = 0; i < 2 + most; i++) {
        if (i >= 2)
            first->probed = number[i];
        if (!is_alive(&roots.root[find_number(class, number[i])]))
            return number[i];
    }
    first->none_was_dead = 1;
    return 0;
}

/* Add a root to its index, which also has entries of earlier modules: rebuild it now and then. */
static int put_object(uint32_t id)
{
    if (roots.by_object.used > 4 * roots.n + 1024) {
        mt_index_reset(&roots.by_object);
        for (uint32_t i = 1; i <= roots.n; i++)
            if (i != id && mt_index_add(&roots.by_object, mt_mix(0, roots.root[i].object), i))
                return -1;
    }
    return mt_index_add(&roots.by_object, mt_mix(0, roots.root[id].object), id);
}

/* Add a number to the class. Return its id, or 0 if there is no room. */
static uint32_t add(uint32_t class)
{
    uint32_t first = find_number(class, 1), number = first ? roots.root[first].count + 1 : 1;
    if (!roots.root && !(roots.root = mt_map((MOST_ROOTS + 1) * sizeof *roots.root)))
        return 0;
    if (roots.n == MOST_ROOTS ||
        mt_index_add(&roots.by_number, hash_of_number(class, number), roots.n + 1))
        return 0;
    uint32_t id = ++roots.n;
    roots.root[id] = (struct root){.class = class, .number = number};
    roots.root[first ? first : id].count = number;
    return id;
}

/* Return whether this is one of the replicas that DataParallel creates for a call. All modules
 * share a few strs as attribute names, so each name is read once. */
static bool is_replica(const struct mt_python_layout *layout, struct mt_py_dict *attributes)
{
    static uint64_t others[1024];
    struct mt_py_entry entry;
    char name[16];
    for (unsigned i = 0; i < attributes->n && !mt_py_dict_at(attributes, i, &entry); i++) {
        uint64_t *other = &others[(entry.key >> 4 ^ entry.key >> 12) % 1024];
        if (!entry.value || *other == entry.key)
            continue;
        if (!mt_py_text(layout, entry.key, name, sizeof name) && !strcmp(name, "_is_replica"))
            return true;
        *other = entry.key;
    }
    return false;
}

/* Return the module's number. Replicas on other devices are not separate modules. */
static uint32_t number_of(const struct mt_python_layout *layout, uint64_t object, uint32_t class)
{
    struct mt_py_dict attributes;
    struct mt_py_proof proof;
    if (mt_py_attributes_alive(layout, object, &attributes, &proof))
        return 1;
    unsigned which = proof.word[0].value ? 0 : 1;
    uint32_t id = find_object(object, class);
    if (id) {
        roots.root[id].at = proof.word[which].address;
        roots.root[id].attributes = proof.word[which].value;
        return roots.root[id].number;
    }
    if (!proof.word[which].value || is_replica(layout, &attributes))
        return 1;
    uint32_t number = find_number(class, 1) ? dead_number(class) : 0;
    id = number ? find_number(class, number) : add(class);
    if (!id) {
        atomic_fetch_add_explicit(&roots.left_out, 1, memory_order_relaxed);
        return 1;
    }
    roots.root[id].object = object;
    roots.root[id].at = proof.word[which].address;
    roots.root[id].attributes = proof.word[which].value;
    roots.root[find_number(class, 1)].given = roots.root[id].number;
    (void)put_object(id); /* otherwise it gets another number next time */
    return roots.root[id].number;
}

uint32_t mt_module_root(const struct mt_python_layout *layout, uint64_t object)
{
    char name[256 + 16];
    if (mt_py_type_name_alive(object, name, 256))
        return 0;
    size_t size = strlen(name);
    uint32_t class = mt_intern_string(name, size);
    unsigned number = class ? number_of(layout, object, class) : 1;
    if (number == 1)
        return class;
    snprintf(name + size, sizeof name - size, "#%u", number);
    return mt_intern_string(name, strlen(name));
}

uint32_t mt_module_roots_left_out(void)
{
    return atomic_load_explicit(&roots.left_out, memory_order_relaxed);
}

void mt_module_roots_reset(void)
{
    mt_unmap(roots.root, (MOST_ROOTS + 1) * sizeof *roots.root);
    mt_index_reset(&roots.by_number);
    mt_index_reset(&roots.by_object);
    memset(&roots, 0, sizeof roots);
}
