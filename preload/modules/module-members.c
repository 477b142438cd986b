/* SPDX-License-Identifier: Apache-2.0 */
#include "module-members.h"
#include "kept-attributes.h"
#include "preload/host/memory.h"
#include "preload/python/expect.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"
#include "preload/record/cache.h"
#include "preload/record/recorder.h"
#include "preload/record/scan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define FIRST_ROOTS 256u /* outermost modules remembered at first; the table grows */
#define MOST_ROOTS (1u << 16)
#define MOST 8192u     /* modules to scan in one pass*/
#define WHEN_BROKE 4u  /* the same once the budget is used up */
#define AT_FIRST 4096  /* initial budget of modules to scan; each new module adds one*/
#define WORDS_EACH 128 /* and so does this many words of events */
#define MOST_SAVED 16384
#define EVERY_ONE 4u  /* of the first calls, which include .cuda() and the like */
#define PER_DICT 256u /* buffers, or parameters, of a module */
#define PARTS 8u      /* of a tensor */
#define FEW 4u        /* modules: read their class's pages with them */
#define CLASSES 16u   /* whose scanned pages are kept */
#define HINTS 3u      /* addresses that modules of one class share: the type, its keys */

enum attribute { BUFFERS, PARAMETERS, MODULES, ATTRIBUTES };

static const char *const names[ATTRIBUTES] = {"_buffers", "_parameters", "_modules"};

static struct {
    const struct mt_python_layout *layout;
    struct mt_exclusive part;
    struct root {
        uint64_t module, calls;
        bool is_owed; /* a scan that came too early, or before the module moved */
    } *root;
    unsigned n_roots, size; /* a power of two */
    _Atomic int64_t left;   /* modules that may be scanned, without AT_FIRST */
    _Atomic uint32_t cut;   /* scans that did not reach all modules */
    uint64_t todo[MOST];
    uint64_t hint[HINTS];     /* addresses that the last module shared with others of its class */
    uint64_t key[ATTRIBUTES]; /* the last strs seen with these names */
} members;

void mt_module_members_start(const struct mt_python_layout *layout)
{
    members.layout = layout;
}

/* Find the dicts of these attributes; 0: none. */
static void find_attributes(struct mt_py_dict *attributes, uint64_t dict[ATTRIBUTES])
{
    struct mt_py_entry entry;
    for (unsigned i = 0; i < ATTRIBUTES; i++)
        dict[i] =
            mt_py_dict_find_known(members.layout, attributes, names[i], &members.key[i], &entry)
                ? 0
                : entry.value;
    mt_scan_prefetch(dict, ATTRIBUTES);
}

/* Record the parts of a wrapped parameter. The wrapper knows the complete size. */
static void record_parts(struct mt_thread *self, uint64_t parameter,
                         const struct mt_py_tensor *part, unsigned n)
{
    uint64_t whole = mt_impl_elements_carefully(mt_py_tensor(parameter).impl);
    for (unsigned i = 0; i < n && whole; i++)
        mt_record(self, MT_PART, part[i].place.device, 0,
                  MT_ARGS(part[i].place.address, parameter + i, i ? 0 : whole, part[i].dtype));
}

/* Record a dict of members. */
static void record_members(struct mt_thread *self, struct mt_py_dict *dict, bool are_parameters)
{
    struct mt_py_entry entry;
    struct mt_py_tensor part[PARTS];
    for (unsigned i = 0; i < dict->n && i < PER_DICT; i++) {
        if (i % MT_SCAN_AHEAD == 0)
            mt_py_dict_expect(dict, i);
        if (mt_py_dict_at(dict, i, &entry))
            return;
        unsigned n = mt_py_tensor_parts(members.layout, entry.value, part, PARTS);
        uint64_t kind = are_parameters                                        ? MT_MEMBER_PARAMETER
                        : n && mt_is_name_of_cache(members.layout, entry.key) ? MT_MEMBER_OF_CACHE
                                                                              : MT_MEMBER_BUFFER;
        if (are_parameters)
            mt_kept_attributes_scan(self, members.layout, entry.value, MT_KEEPER_PARAMETER);
        for (unsigned j = 0; j < n; j++)
            mt_record(self, MT_MEMBER, part[j].place.device, 0,
                      MT_ARGS(part[j].place.address, kind));
        if (are_parameters && n && part[0].is_wrapped)
            record_parts(self, entry.value, part, n);
    }
}

/* Append a module's parts to n modules, at most `most` in all: the last ones, which are the newest.
 */
static unsigned add_parts(struct mt_py_dict *dict, unsigned n, unsigned most, bool *is_cut)
{
    struct mt_py_entry entry;
    unsigned room = most - n, first = dict->n > room ? dict->n - room : 0;
    for (unsigned i = first; i < dict->n && !mt_py_dict_at(dict, i, &entry); i++)
        if (entry.value)
            members.todo[n++] = entry.value;
    *is_cut |= first > 0;
    return n;
}

/* Read the next modules in one system call. If they are few, read the pages of the last class, too:
 * most often they are of it. Return how many. */
static unsigned expect(const uint64_t *module, unsigned n)
{
    uint64_t address[FEW + HINTS];
    n = n < MT_SCAN_AHEAD ? n : MT_SCAN_AHEAD;
    if (n > FEW) { /* many amortize the cost of their class */
        mt_scan_prefetch(module, n);
        return n;
    }
    memcpy(address, module, n * sizeof *module);
    memcpy(address + n, members.hint, sizeof members.hint);
    mt_scan_prefetch(address, n + HINTS);
    return n;
}

static void remember(uint64_t module, const struct mt_py_dict *attributes)
{
    uint64_t type;
    if (mt_py_read(module + MT_OBJECT_TYPE, &type))
        return;
    members.hint[0] = type;
    members.hint[1] = type + (uint64_t)members.layout->type_keys;
    members.hint[2] = attributes->entries;
}

/* Scan a live module and its descendants, at most `most`. Return how many there were. Other objects
 * have no such attributes. */
static unsigned go_through(struct mt_thread *self, uint64_t module, unsigned most)
{
    struct mt_py_dict attributes, dict;
    struct mt_py_proof proof;
    uint64_t found[ATTRIBUTES];
    unsigned n = 1, at = 0, expected = 1;
    bool is_cut = false;
    members.todo[0] = module;
    mt_module_attributes_begin();
    for (; at < n; at++) {
        if (at == expected)
            expected = at + expect(&members.todo[at], n - at);
        if ((at ? mt_py_attributes : mt_py_attributes_alive)(members.layout, members.todo[at],
                                                             &attributes, &proof))
            continue;
        if (at)
            remember(members.todo[at], &attributes);
        find_attributes(&attributes, found);
        if (!mt_py_dict_open(members.layout, found[BUFFERS], &dict))
            record_members(self, &dict, 0);
        if (!mt_py_dict_open(members.layout, found[PARAMETERS], &dict))
            record_members(self, &dict, 1);
        if (!mt_py_dict_open(members.layout, found[MODULES], &dict))
            n = add_parts(&dict, n, most, &is_cut);
        if (found[MODULES])
            mt_module_attributes_scan(self, members.layout, &attributes, members.key[MODULES]);
    }
    if (is_cut)
        atomic_fetch_add_explicit(&members.cut, 1, memory_order_relaxed);
    return at;
}

static struct root *place_of(uint64_t module)
{
    unsigned i = (unsigned)mt_mix(0, module);
    while (members.root[i % members.size].module && members.root[i % members.size].module != module)
        i++;
    return &members.root[i % members.size];
}

/* Make room for one more, with at most half of the places in use. A full table is emptied: known
 * modules then count as new. Return 0 or -ENOMEM. */
static int make_room(void)
{
    struct root *old = members.root;
    unsigned size = members.size, larger = size == MOST_ROOTS ? size
                                           : size             ? 2 * size
                                                              : FIRST_ROOTS;
    if (2 * members.n_roots < size)
        return 0;
    struct root *table = mt_map(larger * sizeof *table);
    if (!table)
        return -ENOMEM;
    members.root = table;
    members.size = larger;
    for (unsigned i = 0; i < size && larger > size; i++)
        if (old[i].module)
            *place_of(old[i].module) = old[i];
    if (larger == size)
        members.n_roots = 0;
    mt_unmap(old, size * sizeof *old);
    return 0;
}

/* Return a module's entry; NULL: no memory. */
static struct root *root_of(uint64_t module, bool is_first)
{
    if (make_room())
        return NULL;
    struct root *root = place_of(module);
    if (!root->module)
        members.n_roots++;
    if (!root->module || is_first)
        *root = (struct root){.module = module};
    return root;
}

static void earn(int64_t modules)
{
    if (atomic_load_explicit(&members.left, memory_order_relaxed) < MOST_SAVED)
        atomic_fetch_add_explicit(&members.left, modules, memory_order_relaxed);
}

void mt_module_members_earn(void)
{
    earn(1);
}

/* Add to the budget by events: a program with many other events has time for scans. */
static void earn_by_events(struct mt_thread *self)
{
    uint64_t put = mt_ring_put(&self->ring);
    uint64_t modules = (put - self->modules.read_at) / WORDS_EACH;
    self->modules.read_at += modules * WORDS_EACH;
    earn((int64_t)modules);
}

static bool is_due(struct root *root)
{
    uint64_t calls = ++root->calls;
    bool is_power_of_16 = (calls & (calls - 1)) == 0 && calls & 0x1111111111111111u;
    return calls <= EVERY_ONE || is_power_of_16 || root->is_owed;
}

/* Scan every new module; others that are due wait until the budget allows. */
static void scan_members(struct mt_thread *self, struct root *root)
{
    bool is_broke = atomic_load_explicit(&members.left, memory_order_relaxed) < -AT_FIRST;
    root->is_owed = is_broke;
    if (is_broke && root->calls > 1)
        return;
    static struct mt_scan_pieces of_class[CLASSES];
    uint64_t class = mt_py_word(root->module, MT_OBJECT_TYPE);
    struct mt_scan_pieces *last = &of_class[mt_mix(0, class) % CLASSES];
    bool has_begun = mt_scan_begin(last);
    unsigned n = go_through(self, root->module, is_broke ? WHEN_BROKE : MOST);
    mt_scan_end(has_begun, last);
    atomic_fetch_sub_explicit(&members.left, n, memory_order_relaxed);
}

void mt_module_members_scan(struct mt_thread *self, uint64_t module, bool is_first, bool is_moved)
{
    if (!mt_exclusive_acquire(&members.part))
        return;
    earn_by_events(self);
    struct root *root = root_of(module, is_first);
    if (root && is_moved)
        root->is_owed = true;
    else if (root && is_due(root))
        scan_members(self, root);
    mt_exclusive_release(&members.part);
}

uint32_t mt_module_members_cut(void)
{
    return atomic_load_explicit(&members.cut, memory_order_relaxed);
}

void mt_module_members_reset(void)
{
    mt_unmap(members.root, members.size * sizeof *members.root);
    members.root = NULL;
    members.n_roots = members.size = 0;
    members.left = 0;
    members.cut = 0;
    members.part.by = 0;
}
