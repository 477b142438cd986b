/* SPDX-License-Identifier: Apache-2.0 */
#include "module-members.h"
#include "kept-attributes.h"
#include "python-objects.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define ROOTS 64u     /* outermost modules that are remembered */
#define MOST 8192u    /* modules that are looked at in one go */
#define EVERY_ONE 4u  /* of the first calls; .cuda() and the like are among them */
#define PER_DICT 256u /* buffers, or parameters, of a module */
#define PARTS 8u      /* of a tensor */

enum attribute { BUFFERS, PARAMETERS, MODULES, ATTRIBUTES };

static const char *const names[ATTRIBUTES] = {"_buffers", "_parameters", "_modules"};

static struct {
    const struct mt_python_layout *layout;
    atomic_flag busy;
    struct {
        uint64_t module, calls;
    } root[ROOTS];
    uint64_t todo[MOST];
    uint64_t key[ATTRIBUTES]; /* the strs with these names that were met last */
} members = {.busy = ATOMIC_FLAG_INIT};

void mt_module_members_start(const struct mt_python_layout *layout)
{
    members.layout = layout;
}

/* Opens the dict that the attribute is. Most often its name is one str for all modules. */
static int open_attribute(struct mt_py_dict *attributes, enum attribute which,
                          struct mt_py_dict *dict)
{
    struct mt_py_entry entry = {0};
    uint64_t *key = &members.key[which];
    for (unsigned i = 0; *key && entry.key != *key && i < attributes->n; i++)
        if (mt_py_dict_at(attributes, i, &entry))
            return -EFAULT;
    if (!*key || entry.key != *key) {
        if (mt_py_dict_find(members.layout, attributes, names[which], &entry))
            return -ENOENT;
        *key = entry.key;
    }
    return mt_py_dict_open(members.layout, entry.value, dict);
}

/* Parameters that are plain tensors were recorded when they were made. */
static void record_members(struct mt_thread *self, struct mt_py_dict *dict, int are_parameters)
{
    struct mt_py_entry entry;
    struct mt_py_tensor part[PARTS];
    for (unsigned i = 0; i < dict->n && i < PER_DICT && !mt_py_dict_at(dict, i, &entry); i++) {
        unsigned n = mt_py_tensor_parts(members.layout, entry.value, part, PARTS);
        if (are_parameters)
            mt_kept_attributes_look(self, members.layout, entry.value, MT_KEEPER_PARAMETER);
        for (unsigned j = 0; j < n; j++)
            if (!are_parameters || part[j].is_wrapped)
                mt_record(self, MT_MEMBER, part[j].place.device, 0,
                          MT_ARGS(part[j].place.address, (uint64_t)are_parameters));
    }
}

static unsigned add_parts(struct mt_py_dict *dict, unsigned n)
{
    struct mt_py_entry entry;
    for (unsigned i = 0; i < dict->n && n < MOST && !mt_py_dict_at(dict, i, &entry); i++)
        if (entry.value)
            members.todo[n++] = entry.value;
    return n;
}

/* The module and its parts, and theirs. What is no module has no such attributes. */
static void go_through(struct mt_thread *self, uint64_t module)
{
    struct mt_py_dict attributes, dict;
    struct mt_py_proof proof;
    unsigned n = 1;
    members.todo[0] = module;
    for (unsigned at = 0; at < n; at++) {
        if (mt_py_attributes(members.layout, members.todo[at], &attributes, &proof))
            continue;
        if (!open_attribute(&attributes, BUFFERS, &dict))
            record_members(self, &dict, 0);
        if (!open_attribute(&attributes, PARAMETERS, &dict))
            record_members(self, &dict, 1);
        if (!open_attribute(&attributes, MODULES, &dict))
            n = add_parts(&dict, n);
    }
}

/* How often the module was called; NULL: not known. When there are too many, a new one takes
 * another one's place. */
static uint64_t *calls_of(uint64_t module, int is_first)
{
    unsigned home = (unsigned)(module >> 4 ^ module >> 12) % ROOTS, i = home;
    do {
        if (members.root[i].module == module)
            return &members.root[i].calls;
    } while (members.root[i].module && (i = (i + 1) % ROOTS) != home);
    if (!is_first)
        return NULL;
    members.root[i].module = module;
    members.root[i].calls = 0;
    return &members.root[i].calls;
}

static int is_due(uint64_t module, int is_first)
{
    uint64_t *place = calls_of(module, is_first), calls = place ? ++*place : 0;
    int is_power_of_16 = (calls & (calls - 1)) == 0 && calls & 0x1111111111111111u;
    return calls && (calls <= EVERY_ONE || is_power_of_16);
}

void mt_module_members_look(struct mt_thread *self, uint64_t module, int is_first)
{
    if (atomic_flag_test_and_set_explicit(&members.busy, memory_order_acquire))
        return;
    if (is_due(module, is_first))
        go_through(self, module);
    atomic_flag_clear_explicit(&members.busy, memory_order_release);
}

void mt_module_members_reset(void)
{
    memset(members.root, 0, sizeof members.root);
    atomic_flag_clear(&members.busy);
}
